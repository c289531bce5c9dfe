// Operations on one element at a time, of tensors of any shape.
#pragma once

#include "kernels/tensor/tensor.hpp"

namespace troupe {

// output = max(input, 0); output may be input.
struct relu_forward {
    const tensor& input;
    tensor& output;

    result<void> check() const;
};

// input_gradient = output > 0 ? output_gradient : 0; input_gradient may be output_gradient.
struct relu_backward {
    const tensor& output;
    const tensor& output_gradient;
    tensor& input_gradient;

    result<void> check() const;
};

// sum = x + factor * y; sum may be x or y.
struct add_scaled {
    const tensor& x;
    float factor;
    const tensor& y;
    tensor& sum;

    result<void> check() const;
};

// Every element becomes `value`.
struct fill {
    tensor& output;
    float value;

    result<void> check() const;
};

} // namespace troupe
