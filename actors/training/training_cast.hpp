// Which stage of which replica the members of a training run's cast (actors/run/cast.hpp) are, or are companions of. A pure
// value.
//
// Stages are numbered over all replicas, those of the first replica first: the number is the stage's placement. A placement
// is taken when its stage and the stage's companions are there.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "actors/run/cast.hpp"
#include "actors/training/plan/plan.hpp"

namespace troupe {

class training_cast {
  public:
    struct placement {
        std::uint32_t replica = 0;
        std::uint32_t stage = 0;
        friend bool operator==(const placement&, const placement&) = default;
    };

    training_cast() = default;
    training_cast(std::uint64_t run, std::vector<planned_actor> actors);

    std::size_t size() const noexcept { return actors_.size(); }
    const planned_actor& operator[](std::size_t actor) const { return actors_[actor]; }

    std::size_t placements() const noexcept { return placements_.size(); }
    const placement& placement_at(std::size_t number) const { return placements_[number]; }
    std::optional<std::size_t> placement_of(std::uint32_t replica, std::uint32_t stage) const;
    // The numbers of this placement's stage and its companions.
    std::vector<std::size_t> actors_of(std::size_t placement) const;
    bool is_taken(std::size_t placement) const;

    // Addresses by placement, those of actors that have left included; none for an actor that has not entered.
    const std::vector<actor_address>& all(run_role role) const {
        return addresses_[static_cast<std::size_t>(role)];
    }

    // The same as the methods of cast; all() contains an actor once it has entered.
    frame_builder<proto::Spawn> ask(std::size_t actor);
    actor_address agent_of(std::size_t actor) const { return cast_.agent_of(actor); }
    std::vector<actor_address> agents() const { return cast_.agents(); }
    result<cast::answer> enter(proto::Spawned::Reader body, actor_address from);
    result<cast::answer> refuse(proto::SpawnFailed::Reader body, actor_address from) {
        return cast_.refuse(body, from);
    }

    // Removes and returns the actors that no other replica shares; answers for them are no longer wanted.
    std::vector<std::pair<node_id, actor_address>> leave(std::uint32_t replica);
    // Sets the new device of this placement's actors, which have left. The placement has no stage until one enters.
    void move(std::size_t placement, const plan_device& where);

  private:
    cast cast_;
    std::vector<planned_actor> actors_; // in the order of the cast
    std::vector<placement> placements_;
    std::array<std::vector<actor_address>, run_roles> addresses_; // by role and placement
};

} // namespace troupe
