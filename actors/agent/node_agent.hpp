// The agent of a node (well-known actor 2). It owns the node's devices, spawns actors of runs on them as schemas/run.capnp
// describes, and ends them when their run is over or its asker is gone.
//
// It knows no family of actors: the table of roles that its owner passes in says what can be spawned. It answers at all
// times: work that an actor needs before it can be spawned is done by a device.
//
// Threads: its actor's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/agent/role.hpp"
#include "actors/runtime/actor.hpp"
#include "actors/runtime/work_queue.hpp"
#include "kernels/device/device.hpp"
#include "schemas/run.capnp.h"

namespace troupe {

struct node_agent_options {
    std::vector<role> roles;
    std::vector<std::shared_ptr<device>> devices;
    // For actors that should not queue behind the devices' computations; may be null.
    std::shared_ptr<device> io = nullptr;
    // For people: a sentence for each event of a run here. Called on the actor's thread and must only pass it on, without
    // blocking. May be empty.
    std::function<void(const std::string&)> log;
};

class node_agent final : public actor {
  public:
    node_agent(actor_context& context, node_agent_options options);

  private:
    // A request of a run that is carried out, or has been.
    struct request_name {
        std::uint64_t run = 0;
        std::uint64_t request = 0;
        actor_address asker;
    };
    struct hosted_actor {
        std::optional<actor_address> address; // none: its work is not done yet
        std::uint64_t ticket = 0;             // no two actors have the same
    };
    struct hosted_run {
        actor_address asker;
        std::map<std::uint64_t, hosted_actor> actors; // by request number, ascending
        std::shared_ptr<shared_objects> shared;
        std::string name; // of the asker's node; kept, as that may be gone at the end
    };

    void spawn(proto::Spawn::Reader body, const frame& f);
    void end_actors(proto::EndActors::Reader body, const frame& f);
    void release(proto::Release::Reader body, const frame& f);
    void answer(proto::AreYouThere::Reader body, const frame& f);
    void on_down(actor_address who, const error& why) override;

    result<void> check_request(proto::Spawn::Reader body, actor_address asker) const;
    result<const role*> find_role(proto::Spawn::Reader body) const;
    result<prepared_actor> prepare(proto::Spawn::Reader body, actor_address asker,
                                   shared_objects& shared) const;
    void place(const request_name& asked, const prepared_actor& prepared,
               const std::string& device);
    void refuse(const request_name& asked, const error& why);
    // The actor that is asked for, if its run still waits for it.
    hosted_actor* awaited(const request_name& asked, std::uint64_t ticket);
    void forget(const request_name& asked);
    void end_run(std::uint64_t run, const error& why);
    void unwatch_unless_leading(actor_address asker);
    void log(const std::string& sentence) const;

    node_agent_options options_;
    std::map<std::uint64_t, hosted_run> runs_;
    std::uint64_t last_ticket_ = 0;
    work_queue work_{*this};
};

} // namespace troupe
