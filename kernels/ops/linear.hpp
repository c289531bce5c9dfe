// Matrix products, with a bias or without, and an activation behind them or none.
#pragma once

#include <optional>

#include "kernels/ops/elementwise.hpp"
#include "kernels/ops/precision.hpp"
#include "kernels/tensor/tensor.hpp"

namespace troupe {

// output[s][o] = activation(bias[o] + sum over i of input[s][i] * weight[o][i]); what the activation gets is float32.
struct linear_forward {
    const tensor& input;  // (samples, in)
    const tensor& weight; // (out, in)
    const tensor* bias;   // (out), or null: zeros
    tensor& output;       // (samples, out)
    precision products = precision::float32;
    std::optional<pointwise> activation = {}; // none: the output is the sum
    // (samples, out): what the activation got, for its backward pass, where that takes it (not keeps_output), or null.
    tensor* pre_activation = nullptr;

    result<void> check() const;
};

// Gradients of the product and the bias: output_gradient is that of what an activation got.
struct linear_backward {
    const tensor& input;           // (samples, in)
    const tensor& weight;          // (out, in)
    const tensor& output_gradient; // (samples, out)
    tensor* input_gradient;        // (samples, in), or null where nobody wants it
    tensor* weight_gradient;       // (out, in), or null where it is sent as its factors
    tensor* bias_gradient;         // (out), or null without a bias
    precision products = precision::float32;

    result<void> check() const;
};

} // namespace troupe
