// Who plays which part in a run: the actors of its plan, which of them have been asked for, and where they are. A pure
// value; the trainer turns the answers of agents into calls on it.
//
// Stages are numbered over all replicas, those of the first first: their seats. A seat is taken when its stage and all that
// stand beside it are there.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "actors/plan/plan.hpp"

namespace troupe {

class run_cast {
  public:
    struct seat {
        std::uint32_t replica = 0;
        std::uint32_t stage = 0;
        friend bool operator==(const seat&, const seat&) = default;
    };

    run_cast() = default;
    explicit run_cast(std::vector<planned_actor> actors);

    std::size_t size() const noexcept { return actors_.size(); }
    const planned_actor& operator[](std::size_t actor) const { return actors_[actor].planned; }

    std::size_t seats() const noexcept { return seats_.size(); }
    const seat& seat_at(std::size_t number) const { return seats_[number]; }
    std::optional<std::size_t> seat_of(std::uint32_t replica, std::uint32_t stage) const;
    // Those that are this seat's stage, or stand beside it.
    std::vector<std::size_t> actors_of(std::size_t seat) const;
    bool is_taken(std::size_t seat) const;

    // Addresses by seat, of those that are there, or were until they left; else none.
    const std::vector<actor_address>& all(run_role role) const {
        return addresses_[static_cast<std::size_t>(role)];
    }

    // The number of a new request for this actor; what was asked before for it counts no more.
    std::uint64_t ask(std::size_t actor);
    // Whom a request that is yet to be answered was for, and the node that was asked.
    struct question {
        std::size_t actor = 0;
        node_id node;
    };
    std::optional<question> asked(std::uint64_t request) const;
    // Its answer: the actor is there, or there will be none. False if it is not wanted any more.
    bool enter(std::uint64_t request, actor_address address);
    bool refuse(std::uint64_t request);

    // The actors that no other replica shares leave, and are returned; answers that come for them are wanted no more.
    std::vector<std::pair<node_id, actor_address>> leave(std::uint32_t replica);
    // Where the actors of this seat, who have left, will be from now on. There is no stage until it enters.
    void move(std::size_t seat, const plan_device& where);

  private:
    struct part {
        planned_actor planned;
        std::uint64_t request = 0; // 0: none counts
        actor_address address;     // while it is there
    };

    std::vector<part> actors_;
    std::vector<seat> seats_;
    std::array<std::vector<actor_address>, run_roles> addresses_; // by role and seat
    std::map<std::uint64_t, question> asked_; // by request, those that are yet to be answered
    std::uint64_t last_request_ = 0;
};

} // namespace troupe
