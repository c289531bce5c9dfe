// Operations on what several replicas send: gradients that come late, gradients or weights of which some may be nonsense.
// All tensors are float32 of one shape.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/tensor/tensor.hpp"

namespace troupe {

// corrected = g + factor * g^2 * (weight - pulled): what gradient g of the weights `pulled` would be, about, of `weight`.
// With a mean_square m: m' = decay * m + (1 - decay) * g^2, and factor / sqrt(m' + 1e-7) for factor.
// Corrected may be the gradient, new_mean_square mean_square. Zheng et al. 2017, DC-ASGD-c and DC-ASGD-a.
struct compensate_delay {
    float factor;
    const tensor& gradient;
    const tensor& weight;
    const tensor& pulled;
    tensor& corrected;
    float decay = 0;
    const tensor* mean_square = nullptr;
    tensor* new_mean_square = nullptr; // null where mean_square is

    static constexpr float epsilon = 1e-7f;

    result<void> check() const;
};

// For each element, the mean of what the inputs have there but for the `trim` smallest and the `trim` largest. NaN counts as
// larger than all numbers. With trim = (inputs - 1) / 2 the median. Output may be an input.
struct trimmed_mean {
    std::span<const tensor> inputs;
    std::size_t trim; // fewer than half of the inputs
    tensor& output;

    static constexpr std::size_t inputs_max = 64;

    result<void> check() const;
};

// largest = the largest |x - y| of an element; infinite if one is NaN.
struct largest_difference {
    const tensor& x;
    const tensor& y;
    float& largest;

    result<void> check() const;
};

} // namespace troupe
