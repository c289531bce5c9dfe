// The order of a stage's work in an epoch: a cursor over the steps that its schedule's table lists for it. It knows which
// step is due, how many are finished, which activation is expected next, and which version a forward pass uses.
//
// Steps whose work does not exist are passed over (schedule_table.hpp). The number of minibatches may fall while the epoch
// runs (epoch_share), so that each question takes the shape that is known by then.
//
// Pure; a value. The executor of a stage alone moves it; the stage's other parts ask it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/pipeline/shape/epoch_shape.hpp"
#include "actors/pipeline/shape/schedule_table.hpp"
#include "schemas/base/error.hpp"

namespace troupe {

// A step of an epoch at one replica of a stage.
struct instruction {
    step_kind what = step_kind::forward;
    std::uint64_t minibatch = 0;  // of the replica, within the epoch
    std::uint32_t microbatch = 0; // 0 for an update

    friend bool operator==(const instruction&, const instruction&) = default;
};

std::string to_string(const instruction& i); // "F3.1", "B3.0", "U3"

class stage_order {
  public:
    stage_order() = default;
    // The steps of one stage; they must pass check_stage_steps().
    explicit stage_order(device_steps steps);

    void begin_epoch() { at_ = {}; }

    // The next step; nullopt when the epoch is finished. No step may be under way.
    std::optional<instruction> next(const epoch_shape& epoch) const;
    // The pass that is due is under way: it has taken its inputs.
    void begin(const instruction& i, const epoch_shape& epoch);
    // The pass, or the next update, is finished. The replica may have no minibatch for an update.
    void finish(const instruction& i, const epoch_shape& epoch);

    std::uint64_t updates() const noexcept { return at_.updates; } // finished
    // The next update; its microbatch is 0.
    instruction next_update() const noexcept { return {step_kind::update, at_.updates, 0}; }
    // True if all forward passes of the epoch are finished.
    bool has_finished_forwards(const epoch_shape& epoch) const;
    // True if no other pass that makes gradients of its minibatch will follow this one, which is due or under way.
    bool is_last_of_gradients(const instruction& pass, const epoch_shape& epoch) const noexcept;
    // The forward pass of the activation that comes after `waiting` others, which have arrived and whose passes have not
    // begun; its minibatch is epoch.minibatches if there is none.
    instruction expected_activation(std::size_t waiting, const epoch_shape& epoch) const;

    // The version that a forward pass uses, in updates since the epoch began.
    std::uint64_t version_of(const instruction& forward) const;

    // The next pass, under way or to come, in the stage's steps.
    struct pass_place {
        std::uint64_t round = 0; // 0: in the warm-up; else 1 more than the minibatch in hand
        std::size_t step = 0;    // warm-up and body counted through
    };
    std::optional<pass_place> next_pass(const epoch_shape& epoch) const;
    pass_place first_pass() const; // of an epoch

  private:
    struct position {
        std::uint64_t round = 0; // minibatch in hand
        std::size_t step = 0;    // warm-up and body counted through
        std::uint64_t updates = 0;
        std::uint32_t gradients = 0; // passes that have made gradients for the next update
        bool runs_forward = false;   // a forward pass is under way
    };

    // Moves to the first step from this one on whose work exists.
    std::optional<instruction> seek(position& at, const epoch_shape& epoch) const;
    void leave(position& at) const;

    device_steps steps_;
    std::vector<std::uint32_t> behind_; // updates, by microbatch
    position at_;
};

// The version that the forward pass of a minibatch uses, in updates since the epoch began.
constexpr std::uint64_t version_behind(std::uint64_t minibatch, std::uint32_t behind) noexcept {
    return minibatch < behind ? 0 : minibatch - behind;
}

// How many updates behind the forward pass of each microbatch is, by microbatch.
std::vector<std::uint32_t> updates_behind(const device_steps& steps);

// The steps of one stage, in the order of its device; the stage is number 0 in them.
device_steps steps_of(const schedule_table& table, std::uint32_t stage);

// The places of these steps among those of the stage's device.
std::vector<std::uint32_t> places_of(const schedule_table& table, std::uint32_t stage);

// Steps that came from elsewhere: sound by themselves (schedule_checker.hpp), and no gradient of a minibatch before the
// update of the one before. errc::protocol.
result<void> check_stage_steps(const device_steps& steps, std::uint32_t microbatches,
                               bool stashes_weights);

// The order that runs ask of a sound table: stages take microbatches forward in one order, the first stage's from the
// first to the last, and give gradients back in one order, as messages of one stage arrive in the order of its passes.
// errc::data.
result<void> check_one_order(const schedule_table& table);

// The versions behind the latest that must be kept for forward passes to come.
std::uint32_t versions_kept(const device_steps& steps, std::uint32_t microbatches);

// All of an epoch's steps in order.
std::vector<instruction> list_instructions(stage_order order, const epoch_shape& epoch);

} // namespace troupe
