// What stands at the two ends of a model: the samples that its first layer takes, and the labels that its loss compares
// the outputs of the last with.
//
// Pure functions; thread-safe.
#pragma once

#include "kernels/layers/layer_values.hpp"
#include "schemas/app.capnp.h"

namespace troupe {

// What a model takes: tokens if it begins with an embedding. errc::usage for an input that cannot be.
result<value_form> input_form(proto::Model::Reader model);

// The label that this loss leaves out.
std::int32_t ignored_by(proto::Loss::Reader loss);

// What a sum of losses is divided by for their mean: the labels but the ignored ones; where labels are numbers, the samples.
std::uint64_t count_labels(const tensor& labels, std::int32_t ignored);

} // namespace troupe
