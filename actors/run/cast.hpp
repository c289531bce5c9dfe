// The cast of a run: which actors it has on which devices, which of them have been asked for, and where they are. A pure
// value; the root of the run turns the answers of agents (schemas/run.capnp) into calls on it.
//
//     cast cast_{options_.run};
//     const std::size_t member = cast_.add("worker-0", device);
//     auto request = cast_.ask(member, "worker");               // and its options
//     watch(cast_.agent_of(member));
//     send(cast_.agent_of(member), std::move(request));
//     ...
//     const auto answer = cast_.enter(body, f.from());          // of Spawned
//     if (!answer) return reject(answer.failure().message());
//
// Members are numbered in the order in which they were added.
// Errors: errc::protocol for an answer that nobody was asked for, which the root rejects; errc::refused for one that names
// an actor of another node, after which the run cannot go on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "actors/run/plan_device.hpp"
#include "schemas/base/error.hpp"
#include "schemas/run.capnp.h"
#include "transport/frame/frame.hpp"

namespace troupe {

class cast {
  public:
    cast() = default;
    explicit cast(std::uint64_t run) : run_{run} {}

    std::size_t add(std::string name, plan_device where);
    std::size_t size() const noexcept { return members_.size(); }
    const plan_device& where(std::size_t member) const { return members_[member].where; }
    actor_address agent_of(std::size_t member) const;
    // While it is there; else none.
    actor_address address_of(std::size_t member) const { return members_[member].address; }
    bool is_complete() const;
    std::vector<std::size_t> all() const; // members

    // A new request for this member, which makes earlier ones for it invalid. The caller writes the options.
    frame_builder<proto::Spawn> ask(std::size_t member, const std::string& role);

    // The answer of an agent: `member` is there, or there will be none. `is_wanted` is false if the member has meanwhile
    // been requested again or has left: the caller then ends the actor that was spawned.
    struct answer {
        std::size_t member = 0;
        actor_address address; // none if it is refused
        bool is_wanted = true;
    };
    result<answer> enter(proto::Spawned::Reader body, actor_address from);
    result<answer> refuse(proto::SpawnFailed::Reader body, actor_address from);

    // It leaves; an answer that comes for it is not wanted any more. Returns where it was, if it was there.
    actor_address leave(std::size_t member);
    // A member that is not there will be here.
    void move(std::size_t member, const plan_device& where) { members_[member].where = where; }

    // The members that are gone with this actor: itself, or with an agent all that are on its node.
    std::vector<std::size_t> gone_with(actor_address who) const;
    // "worker-0 on node-1/cpu:0, worker-3 on node-1/cpu:1"
    std::string describe(const std::vector<std::size_t>& members) const;

    // The agents of all members, each once.
    std::vector<actor_address> agents() const;

  private:
    struct part {
        std::string name;
        plan_device where;
        std::uint64_t request = 0; // 0: none counts
        actor_address address;     // while it is there
    };
    struct question {
        std::size_t member = 0;
        actor_address agent;
    };
    std::optional<question> answered(std::uint64_t run, std::uint64_t request, actor_address from);

    std::uint64_t run_ = 0;
    std::vector<part> members_;
    std::map<std::uint64_t, question> asked_; // by request; those that are yet to be answered
    std::uint64_t last_request_ = 0;
};

// The run goes on without these actors of one node.
frame_builder<proto::EndActors>
end_message(std::uint64_t run, const std::vector<actor_address>& actors, const error& why);
// The run is over.
frame_builder<proto::Release> release_message(std::uint64_t run,
                                              const std::optional<error>& failure);

} // namespace troupe
