// A replica of a stage in its pipeline: where it stands, and what its schedule's table asks of it. A value.
#pragma once

#include <cstdint>
#include <vector>

#include "actors/pipeline/shape/epoch_shape.hpp"
#include "actors/pipeline/shape/schedule_table.hpp"

namespace troupe {

struct stage_place {
    std::uint32_t stage = 0;
    std::uint32_t stages = 1;
    bool stages_differ = false; // in replicas
};

// The turns of a stage with other stages on its device.
struct stage_turns {
    std::uint64_t device =
        0; // a number for the device, within the run and its node; 0: the stage is alone on it
    std::vector<std::uint32_t>
        places{}; // by step of the stage, warm-up and body counted through: its place in the device's
};

// The part of a table that a stage runs by.
struct stage_schedule {
    device_steps steps;             // of this stage alone
    std::uint32_t microbatches = 1; // of a minibatch
    bool is_synchronous = false;    // all stages update before any goes on
    bool stashes_weights =
        true; // backward passes use the weights of their forward pass; else the latest
    std::vector<std::uint32_t>
        previous_behind{}; // by microbatch: updates that the stage before is behind
    stage_turns turns{};
};

struct pipeline_place {
    stage_schedule schedule;
    stage_place place;
    replica_place replica; // among the replicas of this stage

    bool is_first() const noexcept { return place.stage == 0; }
    bool is_last() const noexcept { return place.stage + 1 == place.stages; }
    bool stages_differ() const noexcept { return place.stages_differ; } // in replicas
    // The factor on the sum over replicas. Where stages differ in replicas, each replica's gradient is
    // the mean over a minibatch of its own.
    float scale_of_sum() const noexcept {
        return stages_differ() ? 1.0f / static_cast<float>(replica.replicas) : 1;
    }
};

} // namespace troupe
