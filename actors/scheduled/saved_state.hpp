// The state of an actor of a run of a program at a phase, as a value and as SavedState of schemas/scheduled.capnp.
//
// Threads: values. Errors: errc::protocol for messages whose lists and attachments do not agree.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "actors/scheduled/program.hpp"
#include "schemas/scheduled.capnp.h"
#include "transport/frame/frame.hpp"

namespace troupe::scheduled {

// Where a run ends that has checkpoints, or whose result is with the workers, once a probe has concluded that it does.
struct run_end {
    std::uint64_t phase = 0; // 0: none has
    bool is_done = false;    // the program says so, not a bound of sweeps
};

struct saved_state {
    std::uint64_t number = 0; // the phase
    saved_part part;
    std::vector<phase> phases; // of a scheduler: its own from `number` on that have been chosen
    // A scheduler's deltas before `number` that are still needed. A worker's: to be applied as soon as its part is loaded
    // (carry_over.hpp).
    std::deque<phase_deltas> deltas;
    std::uint32_t milestones = 0;   // probes that have been concluded
    std::vector<held_block> blocks; // of a worker: those of its next turns
    run_end end;                    // of a scheduler
};

// Writes the state's lists, and its tensors into `tensors`, which become attachments of the same message.
void write_state(proto::SavedState::Builder to, const saved_state& state,
                 std::vector<tensor>& tensors);
result<saved_state> read_state(proto::SavedState::Reader from, std::span<const tensor> tensors);

} // namespace troupe::scheduled
