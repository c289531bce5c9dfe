// One update of a shard, from what its workers have pushed: device work.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "actors/params/consistency.hpp"
#include "kernels/codec/number_form.hpp"
#include "kernels/optim/aggregation.hpp"
#include "kernels/optim/optimizer.hpp"

namespace troupe {

// What is added to a gradient for the updates since its weights were pulled (kernels/ops/gradients.hpp, compensate_delay).
struct delay_compensation {
    bool compensates = false;
    float factor = 0;
    std::optional<float> decay; // of the mean of the squares; none: a constant factor

    // What the app asks for.
    static delay_compensation of(proto::DelayCompensation::Reader description);
};

struct shard_update_rules {
    consistency rule;
    aggregation how;
    delay_compensation compensation;
    optimizer_ptr optimizer;
    payload_forms forms;   // of what is pushed, by parameter; empty: all as it is
    number_form_ptr pulls; // how weights are sent to who pulls them; null: as they are
};

// What one worker has pushed.
struct pushed_gradients {
    std::vector<tensor> gradients; // or their payloads
    std::uint64_t late = 0;        // updates since their weights were pulled
    // These weights as they were sent, where delays are compensated; null: none to be.
    weights_ptr pulled;
    std::size_t worker = 0; // named in errors
};

struct shard_update {
    weights_ptr next;
    std::vector<tensor> sent; // its parameters as who pulls them gets them, where they have a form
    double change = 0;        // the largest of a weight, where the rule asks for it
};

// Whether tensors that came from outside can be gradients of parameters of these shapes, or payloads of them: what
// update_shard() takes.
result<void> check_pushed(const shard_update_rules& rules, std::span<const tensor_shape> shapes,
                          std::span<const tensor> tensors);

// These weights as they are, and as they are sent.
result<shard_update> with_sent(compute_context& context, const shard_update_rules& rules,
                               weights_ptr next);

// `mean_square`: of the gradients so far, where compensation keeps one; empty before the first update, then written.
// errc::protocol for payloads that no encoder makes.
result<shard_update> update_shard(compute_context& context, const shard_update_rules& rules,
                                  weights_ptr current, std::vector<pushed_gradients> pushed,
                                  float rate, std::vector<tensor>& mean_square);

} // namespace troupe
