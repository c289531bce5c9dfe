// The part of a model that a stage and the actors beside it work for, from what a ModelPart (schemas/pipeline.capnp) says,
// and how gradients and weights go from one to the other: each of them computes that by these functions from the same part.
//
// Errors: parts come from other nodes, and are checked whole.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/agent/role.hpp"
#include "actors/collective/compressed_exchange.hpp"
#include "actors/params/shard_answers.hpp"
#include "actors/pipeline/run_roles.hpp"
#include "kernels/graph/stage_program.hpp"
#include "kernels/optim/clip.hpp"
#include "kernels/optim/optimizer.hpp"
#include "schemas/pipeline.capnp.h"

namespace troupe {

// What another build may send: "node a does not know this optimizer".
error unknown_to(const std::string& node, const std::string& what);

struct model_part {
    std::uint32_t stage = 0;
    replica_place replica; // of this stage
    replica_sync sync;
    std::shared_ptr<const stage_program> program;
    optimizer_ptr rule;
    gradient_clip clip;
    std::uint64_t seed = 0;      // of the run
    std::size_t samples_max = 1; // of a replica's minibatch
    float slow_down = 1;         // of its device

    // On the node of this name. errc::protocol for what this build does not know, or what cannot be.
    static result<model_part> of(proto::ModelPart::Reader from, const std::string& node);

    std::vector<run_role> beside() const; // roles_beside()
    std::string name_of(run_role role) const { return actor_name(role, stage, replica, sync); }

    // Of what replicas sum or exchange: averages, then parameters. What is ready last in a backward pass comes first.
    std::vector<tensor_shape> shapes() const;
    std::vector<tensor_shape> parameter_shapes() const;
    // How the reducer sums gradients that are compressed; nothing where they are summed as they are.
    std::optional<compressed_exchange> exchange() const;
    // Which parameters are whose shard's, by shard; of a part with one.
    std::vector<shard_range> shard_ranges() const;
    // What is pushed to the shards, by parameter.
    payload_forms pushed_forms() const;
    std::uint64_t codec_seed() const { return seed + stage; } // of what a codec draws by lot
};

// errc::protocol unless the part has an actor of this role beside its stage.
result<void> check_role(const model_part& part, run_role role);

// Where the stage computes: the device that was named, slowed down.
std::shared_ptr<device> device_of(const model_part& part, const role_resources& on);
// Where numbers are worked on that go to other replicas, which are in the host's memory then: the stage's device, or the
// node's worker. errc::usage where the device is none for that, and the node has no worker.
result<std::shared_ptr<device>> device_beside(const model_part& part, const role_resources& on);
// For no push to wait behind a stage's passes: the node's worker, or the stage's device.
std::shared_ptr<device> server_device(const model_part& part, const role_resources& on);

} // namespace troupe
