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

// A function of one number.
enum class pointwise {
    gelu, // x * P(a standard normal variable is below x); Hendrycks and Gimpel 2016
    gelu_tanh, // 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))), their approximation, as in GPT-2
    silu,    // x * sigmoid(x)
    sigmoid, // 1 / (1 + e^-x)
    tanh
};

// output = function(input); output may be input.
struct pointwise_forward {
    pointwise function;
    const tensor& input;
    tensor& output;

    result<void> check() const;
};

// input_gradient = function'(input) * output_gradient; input_gradient may be either of them.
struct pointwise_backward {
    pointwise function;
    const tensor& input;
    const tensor& output_gradient;
    tensor& input_gradient;

    result<void> check() const;
};

// output = silu(gate) * up. Shazeer 2020.
struct swiglu_forward {
    const tensor& gate;
    const tensor& up;
    tensor& output;

    result<void> check() const;
};

struct swiglu_backward {
    const tensor& gate;
    const tensor& up;
    const tensor& output_gradient;
    tensor& gate_gradient;
    tensor& up_gradient;

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
