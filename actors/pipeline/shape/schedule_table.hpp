// A schedule of a pipeline as a table: for each device the steps that it does, in order. Pure values.
//
// A table is made for minibatches of so many microbatches. Each device has a part that it does once per epoch, the warm-up,
// and a part that it does once for each minibatch k = 0, 1, .. of the epoch, the body. A step of the body with `ahead` = a
// is of minibatch k + a; a step of the warm-up is of minibatch a. There is no part that drains the pipeline: a step whose
// work does not exist, as its minibatch or microbatch is beyond the end, takes no time and is passed over. The same rule
// serves a shorter last minibatch, and minibatches with fewer microbatches than the table. It adds no wait: all steps of a
// microbatch are there or none is, so that a table without a circle of waits has none for a part of its work either.
//
// Two stages of pipedream, a microbatch to a minibatch (F forward, B backward, U update; cells as in PyTorch's tables):
//
//   device 0   warm-up 0F0         body 0F0 of minibatch k+1, 0B0, 0U
//   device 1                       body 1F0, 1B0, 1U
//
// Several replicas of the pipeline can share the devices, as in schedules of two directions: a table with R replicas of S
// stages has the stages 0 .. R*S-1, and stage s of replica r has the number r*S + s. Replicas have minibatches of their own;
// the copies of a stage update together, by the sum of their gradients.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "actors/pipeline/shape/schedule_limits.hpp"

namespace troupe {

enum class step_kind : std::uint8_t {
    forward,
    backward,        // whole
    backward_input,  // the half that gives the input's gradient
    backward_weight, // the half that gives the gradients of the weights
    update,          // applies the gradients of the minibatch's microbatches
};

struct schedule_step {
    step_kind kind = step_kind::forward;
    std::uint32_t stage = 0;
    std::uint32_t microbatch = 0; // 0 for an update
    std::uint32_t ahead = 0;      // minibatches ahead of the one in hand
    // For a forward: its weights are those after max(0, b - behind) updates of the epoch, where b is its minibatch.
    std::uint32_t behind = 0;

    friend bool operator==(const schedule_step&, const schedule_step&) = default;
};

struct device_steps {
    std::vector<schedule_step> warm_up; // once per epoch, before the body
    std::vector<schedule_step> body;    // once per minibatch

    friend bool operator==(const device_steps&, const device_steps&) = default;
};

struct schedule_table {
    std::uint32_t stages = 0; // of one replica
    std::uint32_t replicas = 1;
    std::uint32_t microbatches = 0;       // of one replica's minibatch
    std::vector<std::uint32_t> device_of; // by stage number
    std::vector<device_steps> devices;
    // Backward passes use the weights of their forward pass; otherwise the latest ones, and nothing older is kept.
    bool stashes_weights = true;

    std::uint32_t chain_stages() const noexcept { return stages * replicas; } // of all replicas
    bool is_first(std::uint32_t stage) const noexcept { return stage % stages == 0; }
    bool is_last(std::uint32_t stage) const noexcept { return stage % stages + 1 == stages; }
    std::size_t steps() const noexcept; // of all devices, warm-up and body

    friend bool operator==(const schedule_table&, const schedule_table&) = default;
};

// The step at `position` of a device's steps, warm-up and body counted through.
const schedule_step& step_at(const device_steps& steps, std::size_t position);
std::size_t step_count(const device_steps& steps) noexcept;

// The number of minibatches that a table looks ahead at most, and of updates that it looks back.
std::uint32_t ahead_max(const schedule_table& table) noexcept;
std::uint32_t behind_max(const schedule_table& table) noexcept;
// A forward or backward pass uses other weights than those that the update before has made.
bool looks_back(const schedule_table& table) noexcept;

// A step of an epoch.
struct epoch_step {
    schedule_step what;
    std::uint64_t minibatch = 0; // within the epoch
    std::uint32_t position = 0;  // in the device's steps; see step_at
    std::uint64_t round = 0;     // the minibatch in hand, 0 in the warm-up

    friend bool operator==(const epoch_step&, const epoch_step&) = default;
};

// The steps of a device in an epoch, in order. `microbatches` has a minibatch's number of microbatches each. Steps whose
// work does not exist are left out.
std::vector<epoch_step> list_steps(const device_steps& steps,
                                   std::span<const std::uint32_t> microbatches);

// "F", "B", "I", "W", "U", as PyTorch writes the first four.
char letter_of(step_kind kind) noexcept;
// "3B0"; "3U" for an update. Minibatches are not told.
std::string to_string(const schedule_step& step);

// Whether a step gives an input's gradient, or the last of a microbatch's gradients of the weights.
inline bool gives_input_gradient(step_kind kind) noexcept {
    return kind == step_kind::backward || kind == step_kind::backward_input;
}
inline bool ends_microbatch(step_kind kind) noexcept {
    return kind == step_kind::backward || kind == step_kind::backward_weight;
}

// Places of stages on devices.
std::vector<std::uint32_t> looped_places(std::uint32_t devices,
                                         std::uint32_t per_device); // s mod devices
std::vector<std::uint32_t> v_shaped_places(std::uint32_t devices);  // 0, 1, .., P-1, P-1, .., 1, 0
std::vector<std::uint32_t> mirrored_places(std::uint32_t devices);  // of two replicas

// A table of a synchronous schedule without steps: its stages, and where they lie.
schedule_table synchronous_table(std::vector<std::uint32_t> device_of, std::uint32_t devices,
                                 std::uint32_t replicas, std::uint32_t microbatches);
// Ends each device's body with the updates of its stages. They come last, as an update may wait for all other stages.
void append_updates(schedule_table& table);

} // namespace troupe
