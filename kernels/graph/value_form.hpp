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

// What the loss takes beside outputs of this shape (of one sample), which has been checked.
value_form label_form(proto::Loss loss, const tensor_shape& output);

} // namespace troupe
