// The options of a stage, as a node's agent reads them from a trainer's request.
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
    replica_place replica;               // among the replicas of this stage
    std::vector<std::uint32_t> warm_ups; // by stage; empty unless stages differ in replicas
    replica_sync sync;
    std::vector<run_role> companions; // the stage's companions; ConnectStage has their addresses
    // Makes the payloads that the reducer gets in place of gradients, and is used by the device
    // alone; null: the reducer gets gradients.
    std::shared_ptr<gradient_encoder> encoder;
    // By parameter: the reducer or the cache gets its gradient as factors (stage_program::backward);
    // empty: none.
    std::vector<bool> as_factors;
    std::uint32_t worker = 0; // number at the server: this replica's, or one for all of the node's
    proto::PipelineSchedule schedule = proto::PipelineSchedule::PIPEDREAM;
    std::shared_ptr<const stage_program> program;
    number_form_ptr activations; // form of activations and gradients between stages; null: float32
    std::shared_ptr<device> compute;
    optimizer_ptr rule;
    learning_rates rates;
    gradient_clip clip;
    std::uint64_t seed = 0;
    actor_address trainer;

    bool is_first() const noexcept { return place.stage == 0; }
    bool is_last() const noexcept { return place.stage + 1 == place.stages; }
    bool stages_differ() const noexcept { return !warm_ups.empty(); } // in replicas
    // True if received tensors are copied to the device, and sent ones to the host.
    bool has_own_memory() const noexcept { return compute->memory().kind() == memory_kind::device; }
    // The factor on the sum over replicas. Where stages differ in replicas, each replica's gradient is
    // the mean over a minibatch of its own.
    float scale_of_sum() const noexcept {
        return stages_differ() ? 1.0f / static_cast<float>(replica.replicas) : 1;
    }
};

} // namespace troupe
