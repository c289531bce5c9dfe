// Normalisations: values made independent of their mean and size. All tensors are float32.
#pragma once

#include "kernels/tensor/tensor.hpp"

namespace troupe {

// Each row, the last dimension, by itself: m = mean of the row, r = 1 / sqrt(mean of (x - m)^2 + epsilon);
// output = (input - m) * r * weight + bias. Ba, Kiros and Hinton 2016; torch.nn.LayerNorm.
struct layer_norm_forward {
    float epsilon = 1e-5f;
    const tensor& input;       // (..., width)
    const tensor& weight;      // (width)
    const tensor& bias;        // (width)
    tensor& output;            // like input
    tensor& mean;              // (rows), for backward
    tensor& inverse_deviation; // r (rows), for backward

    result<void> check() const;
};

// With x' = (input - m) * r and g = weight * output_gradient:
// input_gradient = r * (g - mean of g - x' * mean of g * x'), the means those of a row;
// weight_gradient = sum over rows of output_gradient * x'; bias_gradient = sum over rows of output_gradient.
struct layer_norm_backward {
    const tensor& input;             // (..., width)
    const tensor& weight;            // (width)
    const tensor& mean;              // as the forward pass left it
    const tensor& inverse_deviation; // as the forward pass left it
    const tensor& output_gradient;   // like input
    tensor* input_gradient;  // like input, or null where nobody wants it; may be output_gradient
    tensor& weight_gradient; // (width)
    tensor& bias_gradient;   // (width)

    result<void> check() const;
};

// Each row by itself: r = 1 / sqrt(mean of x^2 + epsilon); output = input * r * weight. Zhang and Sennrich 2019;
// torch.nn.RMSNorm.
struct rms_norm_forward {
    float epsilon = 1e-6f;
    const tensor& input;       // (..., width)
    const tensor& weight;      // (width)
    tensor& output;            // like input
    tensor& inverse_deviation; // r (rows), for backward

    result<void> check() const;
};

// With x' = input * r and g = weight * output_gradient: input_gradient = r * (g - x' * mean of g * x');
// weight_gradient = sum over rows of output_gradient * x'.
struct rms_norm_backward {
    const tensor& input;             // (..., width)
    const tensor& weight;            // (width)
    const tensor& inverse_deviation; // as the forward pass left it
    const tensor& output_gradient;   // like input
    tensor* input_gradient;  // like input, or null where nobody wants it; may be output_gradient
    tensor& weight_gradient; // (width)

    result<void> check() const;
};

} // namespace troupe
