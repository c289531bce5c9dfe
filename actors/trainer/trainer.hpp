// The trainer of a run: places its stages, runs its epochs, evaluates, saves checkpoints, reports. Speaks the trainer's
// side of schemas/training.capnp.
//
//   measuring -> placing -> restoring -> connecting -> training -> evaluating -> saving -> training ... -> finished
//      |            |           |            |            |           |           |
//      +------------+-----------+------------+------------+-----------+-----------+--> finished, with the first error
//
// (measuring only where the app leaves the cut to measured layer times, restoring only when it resumes, saving only where
// the app names a checkpoint folder.)
// A stop request ends training after the minibatches under way, saves, and finishes with errc::cancelled.
//
// Threads: an actor's; the observer is called on it and must only hand the news on. `worker` copies weights and
// writes files.
// Errors: a lost stage or node finishes the run with errc::lost and a sentence that names it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/data/dataset.hpp"
#include "actors/plan/app_file.hpp"
#include "actors/plan/plan.hpp"
#include "actors/runtime/actor.hpp"
#include "kernels/device/device.hpp"
#include "schemas/training.capnp.h"

namespace troupe {

struct training_progress {
    std::uint32_t epoch = 0;
    std::uint64_t samples_done = 0; // of this epoch
    std::uint64_t samples = 0;      // in this epoch
    double loss_sum = 0;            // over samples_done
    std::uint64_t correct = 0;
    duration elapsed{}; // since the epoch began
};

struct epoch_report {
    std::uint32_t epoch = 0; // counts from 0
    std::uint64_t samples = 0;
    double train_loss = 0; // means over samples
    double test_loss = 0;
    double test_accuracy = 0; // 0..1
    double samples_per_second = 0;
    double seconds = 0; // of training, without evaluation
};

struct stage_report {
    std::vector<std::uint64_t>
        lags; // lags[k]: minibatches whose update came k versions late, over the whole run
    double busy_share = 0; // device time over time, of the last epoch
    std::uint64_t weight_version = 0;
};

struct run_report {
    std::vector<epoch_report> epochs;
    std::vector<stage_report> stages;
    std::optional<std::string> checkpoint; // folder of the last one saved
    std::optional<error> failure;          // errc::cancelled after a stop
};

// What a trainer tells its owner.
class training_observer {
  public:
    virtual ~training_observer() = default;

    virtual void started(const plan& p) = 0;
    virtual void progressed(const training_progress& progress) = 0;
    virtual void epoch_done(const epoch_report& report) = 0;
    virtual void finished(const run_report& report) = 0; // the last call
};

struct trainer_options {
    app_definition app;
    std::uint64_t run = 0; // drawn at random by the owner
    std::vector<plan_device> devices;
    std::shared_ptr<const data_sets> data;
    std::shared_ptr<device> worker;          // prepares batches, reads and writes checkpoints
    std::shared_ptr<checkpoint_store> store; // null: nothing is saved
    std::shared_ptr<const loaded_checkpoint> resume; // null: fresh weights
    training_observer* observer =
        nullptr; // must outlive the actor; finished() comes whatever ends it
};

class trainer final : public actor {
  public:
    trainer(actor_context& context, trainer_options options);

  private:
    enum class state {
        measuring,
        placing,
        restoring,
        connecting,
        training,
        evaluating,
        saving,
        finished
    };

    void on_start() override;
    void on_end() override;
    void on_down(actor_address who, const error& why) override;
    void on_rejected(proto::Rejected::Reader body, const frame& f) override;

    void layer_times(proto::LayerTimes::Reader body, const frame& f);
    void place_failed(proto::PlaceFailed::Reader body, const frame& f);
    void stage_placed(proto::StagePlaced::Reader body, const frame& f);
    void stage_ready(proto::StageReady::Reader body, const frame& f);
    void stage_failed(proto::StageFailed::Reader body, const frame& f);
    void minibatch_done(proto::MinibatchDone::Reader body, const frame& f);
    void stage_epoch_done(proto::StageEpochDone::Reader body, const frame& f);
    void evaluation_done(proto::EvaluationDone::Reader body, const frame& f);
    void snapshot(proto::Snapshot::Reader body, const frame& f);
    void work_done(proto::WorkDone::Reader body, const frame& f);
    void stop(proto::StopRun::Reader body, const frame& f);

    void measure();
    void place(std::vector<double> layer_ns);
    void spawn_source();
    void restore();
    void connect();
    void next_epoch();
    void evaluate();
    void save();
    void write_checkpoint();
    void submit(device_work work); // its WorkDone comes to work_done()
    void finish(std::optional<error> failure);
    void fail(const error& why) { finish(why); }

    proto::App::Reader app() const { return options_.app.app(); }
    std::uint64_t minibatches_per_epoch() const;
    actor_address agent_of(const plan_device& where) const;
    bool is_stage(std::size_t stage, const frame& f); // else answers by Rejected
    bool count_answer(std::size_t stage);
    bool all_answered();                         // then the next question may be asked
    std::vector<stage_program> programs() const; // by stage
    bool has_momentum() const;
    std::string name_of_stage(std::size_t stage) const;
    std::string advice() const;
    std::string stopped_sentence() const;

    trainer_options options_;
    state state_ = state::measuring;
    bool stopping_ = false;
    plan plan_;
    std::vector<actor_address> stages_;
    actor_address source_;
    std::set<std::size_t> answered_; // stages that have answered the question of this state

    std::uint32_t epoch_ = 0;                // the one running, or next
    std::uint64_t minibatches_done_ = 0;     // over the whole run
    std::uint64_t minibatches_of_epoch_ = 0; // run in this epoch since it began or was resumed
    time_point epoch_began_;
    time_point training_ended_;
    training_progress progress_;
    run_report report_;
    weight_version version_;
    std::vector<frame_ptr> snapshots_; // by stage
    std::uint64_t ticket_ = 0;
    // Written by the worker until its WorkDone.
    std::shared_ptr<std::vector<weights_ptr>> restored_; // by stage; null: fresh weights
    std::shared_ptr<std::string> saved_folder_;
};

} // namespace troupe
