// Pipeline schedules: the order in which a stage runs its forward passes, backward passes and updates.
//
// Pure: a schedule is a function from the instructions that a stage has finished to its next one. No stage asks another;
// their orders fit together by construction. They can be listed, printed and checked without running anything.
//
//   gpipe      all forwards of a minibatch, all its backwards in reverse order, one update. Synchronous.
//              Source: Huang et al., GPipe, arXiv 1811.06965.
//   pipedream  one forward, one backward, alternating, each backward followed by an update; stage s of S starts with
//              S-1-s more forwards, and ends the epoch with as many backwards. Source: Narayanan et al., PipeDream,
//              SOSP 2019; warm-up min(S-1-s, minibatches).
//
// Four minibatches through three stages of pipedream (F forward, B backward and update):
//
//   stage 0   F0 F1 F2 B0 F3 B1 B2 B3
//   stage 1      F0 F1 B0 F2 B1 F3 B2 B3      (time runs to the right; gaps are waits)
//   stage 2         F0 B0 F1 B1 F2 B2 F3 B3
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "actors/pipeline/epoch_shape.hpp"
#include "schemas/app.capnp.h"

namespace troupe {

enum class pass : std::uint8_t {
    forward,
    backward,
    update, // apply the gradients of the minibatch's microbatches, summed in the order of their backward passes
};

struct instruction {
    pass what = pass::forward;
    std::uint64_t minibatch = 0;  // within the epoch
    std::uint32_t microbatch = 0; // 0 for an update

    friend bool operator==(const instruction&, const instruction&) = default;
};

std::string to_string(const instruction& i); // "F3.1", "B3.0", "U3"

// The position of a stage in an epoch: counts of finished (or begun) instructions of each kind.
struct schedule_position {
    std::uint64_t forward_minibatch = 0; // of the next forward pass
    std::uint32_t forward_microbatch = 0;
    std::uint64_t backward_minibatch = 0; // of the next backward pass
    std::uint32_t backward_count = 0;     // finished backward passes of that minibatch
    std::uint64_t updates = 0;

    friend bool operator==(const schedule_position&, const schedule_position&) = default;
};

struct stage_place {
    std::uint32_t stage = 0;
    std::uint32_t stages = 1;
    std::optional<std::uint32_t> warm_up{}; // from warm_ups(), where stages differ in replicas
};

// A replica of a stage in its pipeline: where it stands, and the schedule that all stages run by.
struct pipeline_place {
    proto::PipelineSchedule schedule = proto::PipelineSchedule::PIPEDREAM;
    stage_place place;
    replica_place replica;               // among the replicas of this stage
    std::vector<std::uint32_t> warm_ups; // by stage; empty unless stages differ in replicas

    bool is_first() const noexcept { return place.stage == 0; }
    bool is_last() const noexcept { return place.stage + 1 == place.stages; }
    bool stages_differ() const noexcept { return !warm_ups.empty(); } // in replicas
    // The factor on the sum over replicas. Where stages differ in replicas, each replica's gradient is
    // the mean over a minibatch of its own.
    float scale_of_sum() const noexcept {
        return stages_differ() ? 1.0f / static_cast<float>(replica.replicas) : 1;
    }
};

// The warm-up of a pipedream stage's replica, by stage: its forward passes before it alternates forward and backward passes.
// Stage s has replicas[s] replicas, and minibatch m of an epoch belongs to replica m mod replicas[s] (PipeDream's 1F1B-RR).
// The warm-up is long enough that all stages from this one on have work, and that the next stage has its inputs while this
// one waits for the last minibatch of a round, whose gradients its replicas sum. S-1-s if all stages have equally many.
std::vector<std::uint32_t> warm_ups(std::span<const std::uint32_t> replicas);

// The functions below is_known() require a known schedule: code that reads one from a message checks it first.
bool is_known(proto::PipelineSchedule schedule);
std::string_view name_of(proto::PipelineSchedule schedule); // "pipedream"
bool cuts_minibatches(proto::PipelineSchedule schedule);    // into the app's number of microbatches
bool is_synchronous(proto::PipelineSchedule schedule);      // all stages update before any goes on

// The stage's next instruction; nullopt when the epoch is finished.
std::optional<instruction> next_instruction(proto::PipelineSchedule schedule, stage_place place,
                                            const epoch_shape& epoch,
                                            const schedule_position& position);

// The position after an instruction that next_instruction gave.
schedule_position position_after(const instruction& i, const epoch_shape& epoch,
                                 schedule_position position);

// All of an epoch's instructions in order.
std::vector<instruction> list_instructions(proto::PipelineSchedule schedule, stage_place place,
                                           const epoch_shape& epoch);

// The most microbatches that a stage has in flight: forward done, backward not. Also the bound on the activations it
// stashes, and for stage 0 on what the data source may send ahead.
std::uint32_t in_flight_max(proto::PipelineSchedule schedule, stage_place place,
                            const epoch_shape& epoch);

// The most versions of its weights that a stage keeps.
std::uint32_t versions_max(proto::PipelineSchedule schedule, stage_place place,
                           const epoch_shape& epoch);

// The version that the forward pass of a minibatch uses at a stage, in updates since the epoch began. For pipedream the
// delayed-version equation max(0, minibatch - (S-1-s)); for gpipe the minibatch itself.
std::uint64_t version_used(proto::PipelineSchedule schedule, stage_place place,
                           std::uint64_t minibatch);

} // namespace troupe
