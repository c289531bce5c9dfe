// Optimizers read one immutable version of the weights and write the next.
#pragma once

#include <span>

#include "kernels/graph/stage_program.hpp"

namespace troupe {

// Adds `more` to `sum`, element by element, in the order of the elements. `sum` must be unique to
// the caller.
result<void> accumulate(compute_context& context, std::vector<tensor>& sum,
                        std::span<const tensor> more);

// Stochastic gradient descent with momentum: m' = momentum * m + g; w' = w - learning_rate * m'.
// Without momentum w' = w - learning_rate * g. Source: PyTorch's SGD, dampening 0.
struct sgd {
    float learning_rate = 0;
    float momentum = 0;

    // Version current.version + 1. Hand `current` over by moving: where the caller was the only
    // holder of a buffer, the new version takes it over; otherwise it is left as it is and new
    // memory is used.
    result<weights_ptr> step(compute_context& context, weights_ptr current,
                             std::span<const tensor> gradients) const;
};

// The learning rate of an epoch (counted from 0).
float learning_rate_at(proto::Train::Reader train, std::uint32_t epoch);

} // namespace troupe
