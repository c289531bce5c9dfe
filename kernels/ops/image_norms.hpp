// Normalisations of images by channel: (samples, channels, ...) float32, in the memory order of kernels/ops/images.hpp, of
// any number of dimensions behind the channels.
#pragma once

#include "kernels/tensor/tensor.hpp"

namespace troupe {

struct batch_norm_settings {
    float epsilon = 1e-5f;
    std::size_t block = 1; // channel block of the images and their gradients
};

// Over the n values that a channel has in all samples: m = their mean, v = mean of (x - m)^2, r = 1 / sqrt(v + epsilon);
// output = (input - m) * r * weight + bias. Ioffe and Szegedy 2015; torch.nn.BatchNorm2d in training. Needs n > 1.
// Running averages are the caller's: of `mean` and `variance`, which is v * n / (n - 1), unbiased, as PyTorch's.
struct batch_norm_forward {
    batch_norm_settings settings;
    const tensor& input;       // (samples, channels, ...)
    const tensor& weight;      // (channels)
    const tensor& bias;        // (channels)
    tensor& output;            // like input
    tensor& mean;              // m (channels)
    tensor& variance;          // (channels)
    tensor& inverse_deviation; // r (channels), for backward

    result<void> check() const;
};

// The same with averages of earlier batches: output = (input - mean) / sqrt(variance + epsilon) * weight + bias.
struct batch_norm_inference {
    batch_norm_settings settings;
    const tensor& input;    // (samples, channels, ...)
    const tensor& weight;   // (channels)
    const tensor& bias;     // (channels)
    const tensor& mean;     // (channels)
    const tensor& variance; // (channels)
    tensor& output;         // like input; may be input

    result<void> check() const;
};

// The gradients in training. With x' = (input - m) * r, sums and means over a channel's values:
// bias_gradient = sum of output_gradient; weight_gradient = sum of output_gradient * x';
// input_gradient = r * weight * (output_gradient - mean of output_gradient - x' * mean of output_gradient * x').
struct batch_norm_backward {
    batch_norm_settings settings;    // its epsilon does not matter
    const tensor& input;             // (samples, channels, ...)
    const tensor& weight;            // (channels)
    const tensor& mean;              // as the forward pass left it
    const tensor& inverse_deviation; // as the forward pass left it
    const tensor& output_gradient;   // like input
    tensor* input_gradient;  // like input, or null where nobody wants it; may be output_gradient
    tensor& weight_gradient; // (channels)
    tensor& bias_gradient;   // (channels)

    result<void> check() const;
};

struct local_response_norm_settings {
    std::size_t size = 5; // channels that count
    float alpha = 1e-4f;
    float beta = 0.75f;
    float k = 1;
    std::size_t block = 1; // channel block of the images and their gradients
};

// At every pixel: s[c] = k + alpha / size * sum of input[d]^2 over the channels d from c - size / 2 to
// c + (size - 1) / 2 that there are; output[c] = input[c] * s[c]^-beta. Krizhevsky, Sutskever and Hinton 2012, 3.3, with
// alpha divided by the size as in torch.nn.LocalResponseNorm.
struct local_response_norm_forward {
    local_response_norm_settings settings;
    const tensor& input; // (samples, channels, ...)
    tensor& output;      // like input; may be input

    result<void> check() const;
};

// input_gradient[c] = output_gradient[c] * s[c]^-beta - 2 * alpha * beta / size * input[c] *
//                     sum of output_gradient[d] * input[d] * s[d]^(-beta - 1) over the channels d in whose s c counts
struct local_response_norm_backward {
    local_response_norm_settings settings;
    const tensor& input;           // (samples, channels, ...)
    const tensor& output_gradient; // like input
    tensor& input_gradient;        // like input; may be output_gradient

    result<void> check() const;
};

} // namespace troupe
