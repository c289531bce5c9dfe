// The cast of a training run (actors/run/cast.hpp): which stage of which replica each member is, or is a companion of, and
// on which device it is. A pure value.
//
// Stages are numbered over all replicas, those of the first replica first: the number is the stage's placement. A placement
// is taken when its stage and the stage's companions are there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "actors/run/cast.hpp"
#include "actors/training/plan/plan.hpp"

namespace troupe {

class training_cast {
  public:
    training_cast() = default;
    training_cast(std::uint64_t run, std::vector<planned_actor> actors);

    std::size_t size() const noexcept { return actors_.size(); }
    const planned_actor& operator[](std::size_t actor) const { return actors_[actor]; }

    // ---- placements ----

    std::size_t placements() const noexcept { return placements_.size(); }
    std::uint32_t replica_at(std::size_t placement) const { return placements_[placement].replica; }
    std::uint32_t stage_at(std::size_t placement) const { return placements_[placement].stage; }
    const plan_device& where(std::size_t placement) const {
        return actors_[placements_[placement].actor].where;
    }
    std::optional<std::size_t> placement_of(std::uint32_t replica, std::uint32_t stage) const;
    std::optional<std::size_t> placement_of(actor_address stage) const;
    std::vector<std::size_t> placements_on(node_id node) const;
    // The numbers of this placement's stage and its companions.
    std::vector<std::size_t> actors_of(std::size_t placement) const;
    bool is_taken(std::size_t placement) const;
    // "stage 1 of replica 0 on node-1/cpu:0"; the replica only if the stage has several.
    std::string describe(std::size_t placement) const;

    // ---- addresses ----

    // Addresses by placement, those of actors that have left included; none for an actor that has not entered.
    const std::vector<actor_address>& all(const run_role& role) const {
        static const std::vector<actor_address> none; // before actors are placed
        const auto found = addresses_.find(role);
        return found == addresses_.end() ? none : found->second;
    }
    // The replicas of a stage, by their numbers; for another role, the existing actors beside these.
    std::vector<actor_address> replicas_of(std::size_t stage, const run_role& role) const;
    bool has_shard(std::uint32_t replica) const;        // beside any of its stages
    bool has_other_shards(std::size_t placement) const; // other placements of its stage have shards

    // ---- questions and answers ----

    // The same as the methods of cast; all() contains an actor once it has entered.
    frame_builder<proto::Spawn> ask(std::size_t actor);
    actor_address agent_of(std::size_t actor) const { return cast_.agent_of(actor); }
    std::vector<actor_address> agents() const { return cast_.agents(); }
    result<cast::answer> enter(proto::Spawned::Reader body, actor_address from);
    result<cast::answer> refuse(proto::SpawnFailed::Reader body, actor_address from) {
        return cast_.refuse(body, from);
    }

    // Removes and returns, by node, the actors that no other replica shares; answers for them are no longer wanted.
    std::map<node_id, std::vector<actor_address>> leave(std::uint32_t replica);
    // Sets the new device of this placement's actors, which have left. The placement has no stage until one enters.
    void move(std::size_t placement, const plan_device& where);

  private:
    struct placement {
        std::uint32_t replica = 0;
        std::uint32_t stage = 0;
        std::size_t actor = 0; // the stage's number
    };

    cast cast_;
    std::vector<planned_actor> actors_; // in the order of the cast
    std::vector<placement> placements_;
    std::map<run_role, std::vector<actor_address>> addresses_; // by role and placement
};

} // namespace troupe
