// The values at both ends of a model: the samples that its first layer takes, and the labels that its loss compares with the
// outputs of the last layer.
//
// Pure functions; thread-safe.
#pragma once

#include "kernels/layers/layer_values.hpp"
#include "schemas/app.capnp.h"

namespace troupe {

// The form of a model's input: tokens if it begins with an embedding. errc::usage for an impossible input.
result<value_form> input_form(proto::Model::Reader model);

// The label that this loss ignores.
std::int32_t ignored_by(proto::Loss::Reader loss);

// The divisor of a loss sum for the mean: the number of labels that are not ignored; where labels are numbers, of samples.
std::uint64_t count_labels(const tensor& labels, std::int32_t ignored);

} // namespace troupe
