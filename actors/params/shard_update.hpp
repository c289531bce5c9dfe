// One update of a shard from its workers' pushes: device work.
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

// Correction of a gradient for the updates since its weights were pulled (kernels/ops/gradients.hpp, compensate_delay).
struct delay_compensation {
    bool compensates = false;
    float factor = 0;
    std::optional<float> decay; // of the mean square; none: the factor is constant

    // The compensation that the app file asks for.
    static delay_compensation of(proto::DelayCompensation::Reader description);
};

struct shard_update_rules {
    consistency rule;
    aggregation how;
    delay_compensation compensation;
    optimizer_ptr optimizer;
    payload_forms forms;   // form of each pushed gradient; empty: all plain
    number_form_ptr pulls; // form of pulled weights; null: float32
};

// Gradients pushed by one worker.
struct pushed_gradients {
    std::vector<tensor> gradients; // or their payloads
    std::uint64_t late = 0;        // updates since their weights were pulled
    // The weights that they were computed with, as sent; null: no compensation.
    weights_ptr pulled;
    std::size_t worker = 0; // named in errors
};

struct shard_update {
    weights_ptr next;
    std::vector<tensor> sent; // parameters in the form of pulls; empty without one
    double change = 0;        // largest change of a weight, where the rule asks for it
};

// Checks that tensors from outside are gradients, or payloads of gradients, of parameters of these shapes, as
// update_shard() requires.
result<void> check_pushed(const shard_update_rules& rules, std::span<const tensor_shape> shapes,
                          std::span<const tensor> tensors);

// These weights, and their parameters in the form of pulls.
result<shard_update> with_sent(compute_context& context, const shard_update_rules& rules,
                               weights_ptr next);

// `mean_square`: running mean of squared gradients, where the compensation keeps one; empty before the first update, then
// overwritten. Fails with errc::protocol for payloads that no encoder makes.
result<shard_update> update_shard(compute_context& context, const shard_update_rules& rules,
                                  weights_ptr current, std::vector<pushed_gradients> pushed,
                                  float rate, std::vector<tensor>& mean_square);

} // namespace troupe
