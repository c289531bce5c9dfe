// One step of an optimizer on one parameter, fused: reads a weight, its gradient and what the optimizer keeps beside it, and
// writes their successors. All tensors are float32 of the weight's shape.
//
// In the formulas w is the weight, g the gradient, with weight decay g + weight_decay * w, unless said otherwise, and t the
// number of the step. They are those of PyTorch 1.13 (torch.optim), so that a user's settings carry over.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/ops/update_settings.hpp"
#include "kernels/tensor/tensor.hpp"

namespace troupe {

// Operands that every rule takes. New tensors may be the old ones.
struct update_operands {
    float learning_rate;
    std::uint64_t step; // t, counted from 1
    const tensor& gradient;
    const tensor& weight;
    std::span<const tensor> state; // in the order of state_of(settings)
    tensor& new_weight;
    std::span<tensor> new_state;
};

template <class Settings>
struct weight_update {
    Settings settings;
    update_operands operands;

    result<void> check() const;
};

// State that a rule with these settings keeps beside each weight, by PyTorch's names.
std::span<const std::string_view> state_of(const sgd_settings& settings) noexcept;
std::span<const std::string_view> state_of(const adagrad_settings& settings) noexcept;
std::span<const std::string_view> state_of(const rmsprop_settings& settings) noexcept;
std::span<const std::string_view> state_of(const adadelta_settings& settings) noexcept;
std::span<const std::string_view> state_of(const adam_settings& settings) noexcept;
std::span<const std::string_view> state_of(const lamb_settings& settings) noexcept;

// With gradient_scale * g for g. Without momentum, and with no state: w' = w - learning_rate * g.
// With it: m' = momentum * m + g; w' = w - learning_rate * (nesterov ? g + momentum * m' : m').
// State: m "momentum_buffer".
using sgd_update = weight_update<sgd_settings>;

// s' = s + g^2; w' = w - learning_rate * g / (sqrt(s') + epsilon). State: s "sum". Duchi et al. 2011.
using adagrad_update = weight_update<adagrad_settings>;

// s' = decay * s + (1 - decay) * g^2; w' = w - learning_rate * g / (sqrt(s') + epsilon). State: s "square_avg".
// Tieleman and Hinton 2012.
using rmsprop_update = weight_update<rmsprop_settings>;

// s' = decay * s + (1 - decay) * g^2; d = sqrt(u + epsilon) / sqrt(s' + epsilon) * g;
// u' = decay * u + (1 - decay) * d^2; w' = w - learning_rate * d. State: s "square_avg", u "acc_delta". Zeiler 2012.
using adadelta_update = weight_update<adadelta_settings>;

// m' = beta1 * m + (1 - beta1) * g; s' = beta2 * s + (1 - beta2) * g^2;
// d = m' / (1 - beta1^t) / (sqrt(s' / (1 - beta2^t)) + epsilon); w' = w - learning_rate * d.
// State: m "exp_avg", s "exp_avg_sq". Kingma and Ba 2015.
// Decoupled: g without weight decay; w' = (1 - learning_rate * weight_decay) * w - learning_rate * d. Loshchilov and Hutter
// 2019.
using adam_update = weight_update<adam_settings>;

// The direction of LAMB, before it is scaled: g without weight decay, m', s' and d as adam_update's;
// w' = d + weight_decay * w, whatever the learning rate. State: as Adam's. You et al. 2020, algorithm 2.
using lamb_direction = weight_update<lamb_settings>;

// sum = sum over all elements of input^2.
struct sum_of_squares {
    const tensor& input;
    double& sum;

    result<void> check() const;
};

// output = factor * input. Output may be input.
struct scale {
    const tensor& input;
    float factor;
    tensor& output;

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
