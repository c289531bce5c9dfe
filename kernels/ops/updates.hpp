// One step of an optimizer on one parameter, fused: reads a weight, its gradient and what the optimizer keeps beside it, and
// writes their successors. New tensors may be the old ones. All tensors are float32 of the weight's shape.
//
// In the formulas g is the gradient, with weight decay g + weight_decay * w, unless said otherwise, and t the number of the
// step, counted from 1. They are those of PyTorch 1.13 (torch.optim), so that a user's settings carry over.
#pragma once

#include <cstdint>

#include "kernels/tensor/tensor.hpp"

namespace troupe {

// With gradient_scale * g for g. Without momentum: w' = w - learning_rate * g.
// With it: m' = momentum * m + g; w' = w - learning_rate * (nesterov ? g + momentum * m' : m').
struct sgd_update {
    float learning_rate;
    float momentum = 0;
    float weight_decay = 0;
    float gradient_scale = 1;
    bool nesterov = false;
    const tensor& gradient;
    const tensor& weight;
    const tensor* velocity; // m; null without momentum
    tensor& new_weight;
    tensor* new_velocity; // null without momentum

    result<void> check() const;
};

// s' = s + g^2; w' = w - learning_rate * g / (sqrt(s') + epsilon). Duchi et al. 2011.
struct adagrad_update {
    float learning_rate;
    float epsilon = 1e-10f;
    float weight_decay = 0;
    const tensor& gradient;
    const tensor& weight;
    const tensor& squares; // s
    tensor& new_weight;
    tensor& new_squares;

    result<void> check() const;
};

// s' = decay * s + (1 - decay) * g^2; w' = w - learning_rate * g / (sqrt(s') + epsilon). Tieleman and Hinton 2012.
struct rmsprop_update {
    float learning_rate;
    float decay = 0.99f;
    float epsilon = 1e-8f;
    float weight_decay = 0;
    const tensor& gradient;
    const tensor& weight;
    const tensor& squares; // s
    tensor& new_weight;
    tensor& new_squares;

    result<void> check() const;
};

// s' = decay * s + (1 - decay) * g^2; d = sqrt(u + epsilon) / sqrt(s' + epsilon) * g;
// u' = decay * u + (1 - decay) * d^2; w' = w - learning_rate * d. Zeiler 2012.
struct adadelta_update {
    float learning_rate;
    float decay = 0.9f;
    float epsilon = 1e-6f;
    float weight_decay = 0;
    const tensor& gradient;
    const tensor& weight;
    const tensor& squares;      // s
    const tensor& step_squares; // u
    tensor& new_weight;
    tensor& new_squares;
    tensor& new_step_squares;

    result<void> check() const;
};

// m' = beta1 * m + (1 - beta1) * g; s' = beta2 * s + (1 - beta2) * g^2;
// d = m' / (1 - beta1^t) / (sqrt(s' / (1 - beta2^t)) + epsilon); w' = w - learning_rate * d. Kingma and Ba 2015.
// Decoupled: g without weight decay; w' = (1 - learning_rate * weight_decay) * w - learning_rate * d. Loshchilov and Hutter
// 2019.
struct adam_update {
    float learning_rate;
    float beta1 = 0.9f;
    float beta2 = 0.999f;
    float epsilon = 1e-8f;
    float weight_decay = 0;
    bool decoupled = false;
    std::uint64_t step; // t
    const tensor& gradient;
    const tensor& weight;
    const tensor& mean;    // m
    const tensor& squares; // s
    tensor& new_weight;
    tensor& new_mean;
    tensor& new_squares;

    result<void> check() const;
};

// The direction of LAMB, before it is scaled: m' and s' as adam_update's decoupled ones;
// direction = m' / (1 - beta1^t) / (sqrt(s' / (1 - beta2^t)) + epsilon) + weight_decay * w. You et al. 2020, algorithm 2.
struct lamb_direction {
    float beta1 = 0.9f;
    float beta2 = 0.999f;
    float epsilon = 1e-6f;
    float weight_decay = 0;
    std::uint64_t step; // t
    const tensor& gradient;
    const tensor& weight;
    const tensor& mean;
    const tensor& squares;
    tensor& direction;
    tensor& new_mean;
    tensor& new_squares;

    result<void> check() const;
};

// sum = sum over all elements of input^2.
struct sum_of_squares {
    const tensor& input;
    double& sum;

    result<void> check() const;
};

// output = input, no element below -limit or above limit; NaN stays. Output may be input.
struct clip {
    const tensor& input;
    float limit; // not negative
    tensor& output;

    result<void> check() const;
};

} // namespace troupe
