// What stands at the two ends of a model: the samples that its first layer takes, and the labels that its loss compares
// the outputs of the last with.
//
// Pure functions; thread-safe.
#pragma once

#include "kernels/tensor/tensor.hpp"
#include "schemas/app.capnp.h"

namespace troupe {

// The label of what a loss leaves out: padding.
inline constexpr std::int32_t ignored_label = -1;

struct value_form {
    data_type type = data_type::float32;
    tensor_shape shape;     // of one sample
    std::size_t values = 0; // of int32: every value is one of 0 .. values - 1, or ignored_label
};

// What a model takes whose `input` has been checked.
value_form input_form(proto::Model::Reader model);

// What the loss takes beside outputs of this shape (of one sample), which has been checked.
value_form label_form(proto::Loss loss, const tensor_shape& output);

} // namespace troupe
