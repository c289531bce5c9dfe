// What a stage is made of, as a node's agent reads it from a trainer's request.
#pragma once

#include <memory>
#include <vector>

#include "actors/pipeline/run_roles.hpp"
#include "actors/pipeline/schedule.hpp"
#include "kernels/device/device.hpp"
#include "kernels/graph/stage_program.hpp"
#include "kernels/optim/clip.hpp"
#include "kernels/optim/learning_rate.hpp"
#include "kernels/optim/optimizer.hpp"

namespace troupe {

struct stage_options {
    stage_place place;
    replica_place replica;               // of this stage
    std::vector<std::uint32_t> warm_ups; // of every stage, where they differ in replicas
    replica_sync sync;
    std::vector<run_role> beside; // who is colocated with it for that; ConnectStage says where
    // What the reducer is given: payloads of this encoder, which the device uses alone, or
    // gradients as they are where there is none. Of these, and of what the cache is given, some as
    // their factors (stage_program::backward).
    std::shared_ptr<gradient_encoder> encoder;
    std::vector<bool> as_factors;
    std::uint32_t worker = 0; // of the server: this replica, or all of the node's
    proto::PipelineSchedule schedule = proto::PipelineSchedule::PIPEDREAM;
    std::shared_ptr<const stage_program> program;
    number_form_ptr activations; // how stages send them and their gradients; null: as they are
    std::shared_ptr<device> compute;
    optimizer_ptr rule;
    learning_rates rates;
    gradient_clip clip;
    std::uint64_t seed = 0;
    actor_address trainer;

    bool is_first() const noexcept { return place.stage == 0; }
    bool is_last() const noexcept { return place.stage + 1 == place.stages; }
    bool stages_differ() const noexcept { return !warm_ups.empty(); } // in replicas
    // Whether what arrives is copied to the device, and what is sent is copied to the host.
    bool has_own_memory() const noexcept { return compute->memory().kind() == memory_kind::device; }
    // Of the sum over replicas: where only a stage has replicas, each one's gradients are of a
    // minibatch of its own.
    float scale_of_sum() const noexcept {
        return stages_differ() ? 1.0f / static_cast<float>(replica.replicas) : 1;
    }
};

} // namespace troupe
