// One step of an optimizer, fused.
#pragma once

#include "kernels/tensor/tensor.hpp"

namespace troupe {

// m' = momentum * m + g; w' = w - learning_rate * m'. New tensors may be the old ones.
struct momentum_update {
    float learning_rate;
    float momentum;
    const tensor& gradient;
    const tensor& weight;
    const tensor& velocity;
    tensor& new_weight;
    tensor& new_velocity;

    result<void> check() const;
};

} // namespace troupe
