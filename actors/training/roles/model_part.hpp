// The part of a model that a stage and its companions (run_roles.hpp) work for, read from a ModelPart
// (schemas/pipeline.capnp), and the forms in which gradients and weights pass between them: each of these actors computes
// the forms for itself, by these functions from the same part.
//
// Errors: parts come from other nodes, and are checked completely.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/agent/role.hpp"
#include "actors/collective/compressed_sum.hpp"
#include "actors/params/shard_answers.hpp"
#include "actors/pipeline/shape/run_roles.hpp"
#include "kernels/graph/stage_program.hpp"
#include "kernels/optim/clip.hpp"
#include "kernels/optim/optimizer.hpp"
#include "schemas/pipeline.capnp.h"

namespace troupe {

// The error for a value that only another build knows: "node a does not know this optimizer".
error unknown_to(const std::string& node, const std::string& what);

struct model_part {
    std::uint32_t stage = 0;
    replica_place replica; // among the replicas of this stage
    replica_sync sync;
    std::shared_ptr<const stage_program> program;
    optimizer_ptr rule;
    gradient_clip clip;
    std::uint64_t seed = 0;      // of the run
    std::size_t samples_max = 1; // in a minibatch of a replica
    float slow_down = 1;         // factor on the time of its device

    // Reads a part on the node named `node`. errc::protocol for values that this build does not know or that are impossible.
    static result<model_part> of(proto::ModelPart::Reader from, const std::string& node);

    std::vector<run_role> companions() const; // that are due
    std::string name_of(const run_role& role) const {
        return actor_name(role, stage, replica, sync);
    }

    // Shapes of the tensors that replicas sum or exchange: averages, then parameters. Those that a backward pass has ready
    // last come first.
    std::vector<tensor_shape> shapes() const;
    std::vector<tensor_shape> parameter_shapes() const;
    // How the reducers sum compressed gradients; nullopt where they are not compressed.
    std::optional<compressed_sum> chosen_sum() const;
    // The parameters of each shard, by shard. The part must have one.
    std::vector<shard_range> shard_ranges() const;
    // The forms of gradients pushed to the shards, by parameter.
    payload_forms pushed_forms() const;
    std::uint64_t codec_seed() const { return seed + stage; } // of a codec's random numbers
};

// errc::protocol unless the part's stage has a companion of this role.
result<void> check_role(const model_part& part, const run_role& role);

// The device that the stage computes on: the one that the request names, slowed down as the part says.
std::shared_ptr<device> device_of(const model_part& part, const role_resources& on);
// The device that computes numbers sent to other replicas, in host memory: the stage's device, or if that has its own
// memory the node's background thread. errc::usage where the node has none and this needs it.
result<std::shared_ptr<device>> colocated_device(const model_part& part, const role_resources& on);
// The device of a parameter server's shards and caches: the node's background thread, so that no push waits behind a
// stage's passes; without one the stage's device.
std::shared_ptr<device> server_device(const model_part& part, const role_resources& on);

} // namespace troupe
