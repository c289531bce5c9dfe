// Operations on one element at a time, of tensors of any shape.
#pragma once

#include "kernels/tensor/tensor.hpp"

namespace troupe {

// A function of one number.
enum class pointwise {
    relu, // max(x, 0)
    gelu, // x * P(a standard normal variable is below x); Hendrycks and Gimpel 2016
    gelu_tanh, // 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))), their approximation, as in GPT-2
    silu,    // x * sigmoid(x)
    sigmoid, // 1 / (1 + e^-x)
    tanh
};

// Whether backward takes the function's output, so that forward may overwrite its input; else it takes the input.
constexpr bool keeps_output(pointwise function) noexcept {
    return function == pointwise::relu || function == pointwise::sigmoid ||
           function == pointwise::tanh;
}

// output = function(input); output may be input.
struct pointwise_forward {
    pointwise function;
    const tensor& input;
    tensor& output;

    result<void> check() const;
};

// input_gradient = function'(input) * output_gradient, that of relu at 0 being 0. input_gradient may be either operand.
struct pointwise_backward {
    pointwise function;
    const tensor& kept; // the output where keeps_output(function), else the input
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
