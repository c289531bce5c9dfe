// The agent of a node (well-known actor 2): owns the node's devices and carries out what trainers ask of them, as
// schemas/training.capnp says: measures layers, places stages, ends them when their run is over or their trainer is gone.
//
// A run gets actors, never programs: what can be placed is a stage of a model that the schema can describe.
//
// Threads: an actor's.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "actors/params/parameter_cache.hpp"
#include "actors/peers/shared_weights.hpp"
#include "actors/pipeline/stage_actor.hpp"
#include "actors/runtime/actor.hpp"
#include "kernels/device/device.hpp"
#include "schemas/training.capnp.h"

namespace troupe {

struct node_agent_options {
    std::vector<std::shared_ptr<device>> devices;
    // Where shards of parameter servers and their caches work, for no push to wait behind a stage's passes; none: on the
    // stage's device.
    std::shared_ptr<device> worker = nullptr;
    // For people: what runs do here, a sentence each. Called on the actor's thread; must only hand it on. May be empty.
    std::function<void(const std::string&)> log;
};

class node_agent final : public actor {
  public:
    node_agent(actor_context& context, node_agent_options options);

  private:
    // A stage and what stands beside it for it to agree with its other replicas.
    struct hosted_stage {
        actor_address stage, reducer, cache, shard, peer;
    };
    struct hosted_run {
        actor_address trainer;
        std::map<std::pair<std::uint32_t, std::uint32_t>, hosted_stage>
            stages;                                          // by replica and number
        std::map<std::uint32_t, actor_address> node_servers; // by stage: caches of several replicas
        // By number of stage, for replicas that share memory.
        std::map<std::uint32_t, std::shared_ptr<shared_weights>> shared;
        std::string name; // of its node: it may be gone at the end
    };

    void place(proto::PlaceStage::Reader body, const frame& f);
    void profile(proto::ProfileModel::Reader body, const frame& f);
    void work_done(proto::WorkDone::Reader body, const frame& f);
    void drop_replica(proto::DropReplica::Reader body, const frame& f);
    void release(proto::Release::Reader body, const frame& f);
    void on_down(actor_address who, const error& why) override;

    result<void> check_profile(proto::ProfileModel::Reader body, node_id asking) const;
    result<void> check_placement(proto::PlaceStage::Reader body, actor_address trainer) const;
    result<hosted_stage> spawn_stage(proto::PlaceStage::Reader body, actor_address trainer);
    actor_address spawn_reducer(proto::PlaceStage::Reader body, stage_options& stage);
    void spawn_server(proto::PlaceStage::Reader body, stage_options& stage, hosted_stage& into);
    actor_address spawn_shard(proto::PlaceStage::Reader body, const stage_options& stage,
                              shard_range own, const payload_forms& pushed);
    actor_address spawn_cache(proto::PlaceStage::Reader body, const stage_options& stage,
                              parameter_cache_options options);
    actor_address spawn_peer(proto::PlaceStage::Reader body, const stage_options& stage);
    std::shared_ptr<device> beside(const stage_options& stage) const;
    result<std::shared_ptr<device>> find_device(const std::string& name) const;
    void refuse(actor_address trainer, std::uint64_t run, std::uint32_t replica,
                std::uint32_t stage, const error& why);
    void end_all(const hosted_stage& hosted, const error& why);
    void end_run(std::uint64_t run, const error& why);
    void unwatch_unless_served(actor_address who);
    std::string name_of(node_id node) const;
    void log(const std::string& sentence) const;

    // A measurement on a device, until its WorkDone. Shared with it: it works after the request has been handled.
    struct measurement {
        frame_ptr request;
        std::vector<std::uint64_t> nanoseconds; // written by the device, read after its WorkDone
        std::atomic<bool> given_up{false};      // whoever asked is gone
    };
    struct profiling {
        actor_address asked_by;
        std::uint64_t run = 0;
        std::shared_ptr<measurement> work;
    };

    node_agent_options options_;
    std::map<std::uint64_t, hosted_run> runs_;
    std::map<std::uint64_t, profiling> profiles_; // by ticket; of a node at most one
    std::uint64_t ticket_ = 0;
};

} // namespace troupe
