// Matrix products, with a bias or without.
#pragma once

#include "kernels/ops/precision.hpp"
#include "kernels/tensor/tensor.hpp"

namespace troupe {

// output[s][o] = bias[o] + sum over i of input[s][i] * weight[o][i]
struct linear_forward {
    const tensor& input;  // (samples, in)
    const tensor& weight; // (out, in)
    const tensor* bias;   // (out), or null: zeros
    tensor& output;       // (samples, out)
    precision products = precision::float32;

    result<void> check() const;
};

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
