// The trainer of a run: has its actors spawned, runs its epochs, evaluates, saves checkpoints, reports. Speaks the trainer's
// side of schemas/training.capnp, and the asker's of schemas/run.capnp.
//
// This actor turns messages into calls on its parts, and their answers into messages. The parts do not know each other, but
// for what they are given: run_course.hpp is the order of its phases, training_cast.hpp the places of its actors,
// epoch_tally.hpp what stages report of an epoch, replica_changes.hpp and run_devices.hpp are replicas and nodes that go and
// come, trainer_checkpoint.hpp is the checkpoints. A run that is stopped finishes with errc::cancelled.
//
// Threads: an actor's. What blocks or computes is done on `io`.
// Errors: a checkpoint that cannot be written is a note, and the last one, which is the run's result, is tried again
// (unwritten.hpp). A lost stage or node finishes the run with errc::lost and a sentence that names it, unless the way in
// which replicas agree bears its loss (trainer_replicas.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/data/samples/dataset.hpp"
#include "actors/run/unwritten.hpp"
#include "actors/runtime/actor.hpp"
#include "actors/training/epoch_tally.hpp"
#include "actors/training/plan/plan.hpp"
#include "actors/training/plan/training_app.hpp"
#include "actors/training/replica_changes.hpp"
#include "actors/training/run_course.hpp"
#include "actors/training/run_devices.hpp"
#include "actors/training/trainer_checkpoint.hpp"
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
    std::shared_ptr<const schedule_table> table{}; // read_table_file()
    std::uint64_t run = 0;                         // drawn at random by the owner
    std::vector<plan_device> devices;              // not empty
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
    // WorkerExpected and PeerExpected.
    template <class Reader>
    void expected(Reader, const frame& f);
    void node_joined(proto::NodeJoined::Reader body, const frame& f);
    void node_lost(proto::NodeLost::Reader body, const frame& f);
    // Ignored: the devices of the members came with the plan.
    void members_listed(proto::MemberList::Reader, const frame&) {}
    void stop(proto::StopRun::Reader body, const frame& f);

    bool take(run_phase asked, std::size_t placement = 0); // returns false if it refused the answer
    // Returns the placement of this stage if the stage sent the message; else answers by Rejected.
    std::optional<std::size_t> placement_of_sender(std::uint32_t replica, std::uint32_t stage,
                                                   const frame& f);
    void go_on(std::uint64_t minibatches = 0); // does nothing unless all answers are in
    void carry_out(run_phase phase);
    void measure();
    void place();
    void ask_for(std::size_t actor);
    void connect();
    void train();
    void checkpoint_done(const trainer_checkpoint::outcome& outcome);
    void save_again(proto::SaveAgain::Reader body, const frame& f);
    bool goes_on_without(const std::vector<std::size_t>& placements, const error& why);
    void lose_replica(std::size_t placement, const error& why);
    bool let_one_join();
    void introduce(std::size_t placement); // tells the peers of its stage of it
    void let_actors_go(const std::optional<error>& failure);
    void finish(std::optional<error> failure);
    // `why` is an error of computing; `where`: of a device that is known.
    void fail_computing(const error& why, const plan_device* where = nullptr);
    template <class News>
    void tell(const News& news) {
        send(listener_, event_of(run(), news));
    }

    trainer_options options_;
    run_course course_;
    enum class told { nothing, started, finished };
    told told_ = told::nothing; // to the listener, at last
    run_devices devices_;
    std::vector<double> layer_ns_;
    plan plan_; // as it was made; where newcomers are, the cast knows
    training_cast cast_;
    actor_address source_;
    actor_address listener_;
    replica_changes changes_;
    epoch_tally tally_; // of the epoch that is running or over
    run_report report_;
    trainer_checkpoint checkpoints_;
    struct {
        unwritten checkpoints, deletions;
    } disk_;
};

} // namespace troupe
