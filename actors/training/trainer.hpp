// The trainer of a run: has its actors spawned, runs its epochs, evaluates, saves checkpoints, reports. Speaks the trainer's
// side of schemas/training.capnp, and the asker's of schemas/run.capnp.
//
// The order of its phases is in run_course.hpp, the places of its actors in training_cast.hpp; this actor carries them out
// and keeps the answers. A run that is stopped finishes with errc::cancelled.
//
// Threads: an actor's. `worker` copies weights and writes files.
// Errors: a lost stage or node finishes the run with errc::lost and a sentence that names it, unless the way in which
// replicas agree bears its loss (trainer_replicas.cpp).
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/data/dataset.hpp"
#include "actors/runtime/actor.hpp"
#include "actors/runtime/work_queue.hpp"
#include "actors/training/plan/plan.hpp"
#include "actors/training/plan/training_app.hpp"
#include "actors/training/run_course.hpp"
#include "actors/training/training_cast.hpp"
#include "actors/training/training_report.hpp"
#include "kernels/device/device.hpp"
#include "schemas/cluster.capnp.h"
#include "schemas/params.capnp.h"
#include "schemas/peers.capnp.h"
#include "schemas/run.capnp.h"
#include "schemas/training.capnp.h"

namespace troupe {

struct trainer_options {
    training_app app;
    std::uint64_t run = 0; // drawn at random by the owner
    std::vector<plan_device> devices;
    std::shared_ptr<const data_sets> data;
    std::shared_ptr<device> io;              // prepares batches, reads and writes checkpoints
    std::shared_ptr<checkpoint_store> store; // null: nothing is saved
    std::shared_ptr<const loaded_checkpoint> resume; // null: fresh weights
    memory_advice more_memory;
    bool of_cluster = false; // the run's nodes were there before the run
    run_listener* listener =
        nullptr; // of the run's news; must outlive the trainer and its listening_actor
};

class trainer final : public actor {
  public:
    trainer(actor_context& context, trainer_options options);

  private:
    void on_start() override;
    void on_end() override;
    void on_down(actor_address who, const error& why) override;
    void on_rejected(proto::Rejected::Reader body, const frame& f) override;

    void layer_times(proto::LayerTimes::Reader body, const frame& f);
    void profile_failed(proto::ProfileFailed::Reader body, const frame& f);
    void spawned(proto::Spawned::Reader body, const frame& f);
    void spawn_failed(proto::SpawnFailed::Reader body, const frame& f);
    void stage_ready(proto::StageReady::Reader body, const frame& f);
    void stage_failed(proto::StageFailed::Reader body, const frame& f);
    void minibatch_done(proto::MinibatchDone::Reader body, const frame& f);
    void stage_epoch_done(proto::StageEpochDone::Reader body, const frame& f);
    void evaluation_done(proto::EvaluationDone::Reader body, const frame& f);
    void snapshot(proto::Snapshot::Reader body, const frame& f);
    void minibatches_lost(proto::MinibatchesLost::Reader body, const frame& f);
    void worker_expected(proto::WorkerExpected::Reader body, const frame& f);
    void peer_expected(proto::PeerExpected::Reader body, const frame& f);
    void node_joined(proto::NodeJoined::Reader body, const frame& f);
    void node_lost(proto::NodeLost::Reader body, const frame& f);
    // Ignored: the devices of the members came with the plan.
    void members_listed(proto::MemberList::Reader, const frame&) {}
    void stop(proto::StopRun::Reader body, const frame& f);

    bool take(run_phase asked, std::size_t placement = 0); // returns false if it refused the answer
    void go_on(std::uint64_t minibatches = 0);             // does nothing unless all answers are in
    void carry_out(run_phase phase);
    void measure();
    void place();
    void ask_for(std::size_t actor);
    void end_actors(const std::vector<std::pair<node_id, actor_address>>& actors,
                    std::uint32_t of_replica);
    void spawn_source();
    void restore();
    void connect();
    void connect_stage(std::size_t placement);
    std::vector<actor_address> replicas_of(std::size_t stage, run_role role) const;
    std::vector<actor_address> neighbours(std::size_t stage, std::uint32_t replica) const;
    bool is_colocated(std::size_t placement, std::size_t stage) const;
    void train();
    bool goes_on_without(std::size_t placement, const error& why);
    bool goes_on_without_node(actor_address who, const error& why);
    bool may_lose(std::size_t placement) const;
    void lose_replica(std::uint32_t replica, const error& why);
    void take_expected(const frame& f);
    void give_up_newcomer(std::size_t placement, const error& why);
    void introduce(std::size_t placement); // tells the peers of its stage of it
    bool let_one_join();
    std::vector<plan_device> free_devices() const;
    std::uint32_t replicas_left() const;
    void evaluate();
    void take_snapshots();
    void write_checkpoint();
    void checkpoint_failed(const error& why);
    void finish(std::optional<error> failure);
    void fail(const error& why) { finish(why); }
    template <class News>
    void tell(const News& news) {
        send(listener_, event_of(run(), news));
    }

    proto::App::Reader app() const { return options_.app.app(); }
    // Returns whether labels are classes, so that outputs can be right.
    bool classifies() const { return app().getModel().getLoss().isCrossEntropy(); }
    actor_address agent_of(const plan_device& where) const;
    actor_address profiler() const;         // the profiler that measures for this run
    bool is_agent(actor_address who) const; // `who` is the agent of a node that the run may use
    std::optional<std::size_t> placement_of(std::uint32_t replica, std::uint32_t stage) const {
        return cast_.placement_of(replica, stage);
    }
    std::uint32_t replica_at(std::size_t placement) const {
        return cast_.placement_at(placement).replica;
    }
    std::uint32_t stage_at(std::size_t placement) const {
        return cast_.placement_at(placement).stage;
    }
    const plan_device& device_at(std::size_t placement) const;
    // Addresses by placement, none where there is no such actor.
    const std::vector<actor_address>& stages() const { return cast_.all(run_role::stage); }
    const std::vector<actor_address>& shards() const { return cast_.all(run_role::shard); }
    const std::vector<actor_address>& peers() const { return cast_.all(run_role::peer); }
    // Returns the placement of this stage if the stage sent the message; else answers by Rejected.
    std::optional<std::size_t> placement_of_sender(std::uint32_t replica, std::uint32_t stage,
                                                   const frame& f);
    std::vector<weights_layout> layouts() const; // by stage
    std::string name_of_stage(std::size_t placement) const;
    std::string advice() const;
    error advised(const error& why, const plan_device* where = nullptr) const;
    error lost(const error& why, const std::string& what) const;
    bool has_other_shards(std::size_t placement) const; // other placements of its stage have shards
    checkpoint_progress how_far() const;
    std::string stopped_at_once(bool again) const;
    std::string stopped_in_order() const;

    trainer_options options_;
    run_course course_;
    enum class told {
        nothing,
        started,
        finished
    } told_ = told::nothing; // to the listener, at last
    std::vector<double> layer_ns_;
    plan plan_;
    training_cast cast_;
    actor_address source_;
    actor_address listener_;
    // Lost replicas with the reason, until the data source reports their minibatches.
    std::vector<std::pair<std::uint32_t, std::string>> lost_;
    std::set<node_id> lost_nodes_;
    std::vector<std::uint32_t> joined_; // replicas that the data source does not know of yet
    // Shards and peers that have yet to confirm that they expect a joining replica.
    std::multiset<actor_address> expecting_;

    // The minibatches of the epoch that is running or over; the reports of all stages must agree on them.
    std::optional<std::uint64_t> minibatches_of_epoch_;
    time_point epoch_began_;
    time_point training_ended_;
    training_progress progress_;
    run_report report_;
    // Weight versions by stage after the epoch. They may differ where parameter servers drop gradients.
    std::vector<std::optional<weight_version>> versions_;
    weight_version version_;           // version of the first stage that has parameters
    std::vector<frame_ptr> snapshots_; // by stage
    // Written by the worker while it restores.
    std::shared_ptr<std::vector<weights_ptr>> restored_; // by stage; null: fresh weights
    work_queue work_{*this,
                     [this](const std::string&, const error& why) { checkpoint_failed(why); }};
};

} // namespace troupe
