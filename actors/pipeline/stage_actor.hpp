// One stage of a pipeline: speaks schemas/pipeline.capnp with its neighbours and schemas/training.capnp with its trainer.
//
// Thin: the schedule says what comes next, the stage_program computes it on the device, this actor pairs messages with
// both. At any time at most one piece of work is on the device; when it is done (WorkDone) or a message arrives, advance()
// asks the schedule again.
//
// Weight stashing: the forward pass of a microbatch holds a reference to the version that it used until its backward pass
// is done, without what the optimizer keeps. Nothing is copied; an update writes over the old version exactly when nobody
// holds it any more.
//
// Threads: an actor's. Device work touches only what it was given.
// Errors: what a neighbour sends out of order, work that fails and weights that do not fit end the stage: StageFailed to
// the trainer, with a sentence.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "actors/pipeline/replica_sync.hpp"
#include "actors/pipeline/schedule.hpp"
#include "actors/runtime/actor.hpp"
#include "kernels/device/device.hpp"
#include "kernels/graph/stage_program.hpp"
#include "kernels/optim/clip.hpp"
#include "kernels/optim/learning_rate.hpp"
#include "kernels/optim/optimizer.hpp"
#include "schemas/collective.capnp.h"
#include "schemas/params.capnp.h"
#include "schemas/pipeline.capnp.h"
#include "schemas/training.capnp.h"

namespace troupe {

struct stage_options {
    stage_place place;
    replica_place replica;
    replica_sync sync;
    actor_address reducer; // sums over the replicas, where they do and have something to sum
    actor_address cache;   // of the parameter server, where there is one
    proto::PipelineSchedule schedule = proto::PipelineSchedule::PIPEDREAM;
    std::shared_ptr<const stage_program> program;
    std::shared_ptr<device> compute;
    optimizer_ptr rule;
    learning_rates rates;
    gradient_clip clip;
    std::uint64_t seed = 0;
    actor_address trainer;
};

class stage_actor final : public actor {
  public:
    stage_actor(actor_context& context, stage_options options);

  private:
    // A microbatch between its forward and its backward pass.
    struct stashed {
        weights_ptr used;
        saved_activations saved;
        tensor loss_gradient;             // last stage only
        std::uint64_t sender_version = 0; // the Activation's, echoed in the Gradient
    };
    using work_key =
        std::pair<std::uint64_t, std::uint32_t>; // minibatch (over the run), microbatch

    // What device work leaves for its completion; written by the device, then read by the actor.
    struct work_results {
        weights_ptr weights;
        forward_result forward;
        backward_result backward;
        std::vector<tensor> gradient_sum;
        std::vector<double> squares; // of each parameter's gradient
        loss_result loss;
    };

    // One pass over the training data.
    struct epoch_run {
        std::uint32_t number = 0;
        std::uint64_t first_minibatch = 0;
        weight_version first_version;
        epoch_shape whole;          // of all replicas
        epoch_shape shape;          // of this one
        schedule_position position; // instructions that have ended
        bool data_ended = false;
        bool end_passed_on = false;
        std::vector<std::uint64_t>
            dealt; // minibatches over the run that came, where they are dealt
        std::uint64_t averaged_after = 0; // updates, the last time
        bool entered = false;             // the weights are the server's as the epoch began
        std::uint32_t fetches_late = 0;   // of the gradient that is offered next
        bool left_server = false;         // the server knows that this replica has done its share
        std::vector<std::uint64_t> lags;
        std::int64_t busy_ns = 0;
        time_point began;
        loss_result minibatch_loss; // sums over the microbatches so far
    };

    struct evaluation_run {
        std::deque<frame_ptr>
            waiting; // EvaluationBatch and EndOfEvaluation in the order of their arrival
        std::deque<frame_ptr> labels;
        std::uint64_t next_batch = 0;
        std::uint64_t samples = 0;
        double loss_sum = 0;
        std::uint64_t counted = 0;
        std::uint64_t correct = 0;
    };

    // What is known of the norm of a minibatch's gradients over all stages: sums of squares.
    struct shared_norm {
        std::optional<std::vector<double>> own; // of each parameter's gradient
        std::optional<double> later;            // of all stages after this one
        std::optional<double> all;
    };

    void connect(proto::ConnectStage::Reader body, const frame& f);
    void begin_epoch(proto::EpochBegin::Reader body, const frame& f);
    void admit(proto::Activation::Reader body, const frame& f);
    void admit_gradient(proto::Gradient::Reader body, const frame& f);
    void admit_partial_norm(proto::PartialNorm::Reader body, const frame& f);
    void admit_global_norm(proto::GlobalNorm::Reader body, const frame& f);
    void admit_labels(proto::Labels::Reader body, const frame& f);
    void end_data(proto::EndOfData::Reader body, const frame& f);
    void admit_evaluation(proto::EvaluationBatch::Reader body, const frame& f);
    void admit_evaluation_labels(proto::EvaluationLabels::Reader body, const frame& f);
    void end_evaluation(proto::EndOfEvaluation::Reader body, const frame& f);
    void snapshot(proto::TakeSnapshot::Reader body, const frame& f);
    void reduced(proto::Reduced::Reader body, const frame& f);
    void server_joined(proto::ServerJoined::Reader body, const frame& f);
    void fetched(proto::Fetched::Reader body, const frame& f);
    void server_left(proto::EpochFinished::Reader body, const frame& f);
    void work_done(proto::WorkDone::Reader body, const frame& f);

    void on_down(actor_address who, const error& why) override;
    void on_rejected(proto::Rejected::Reader body, const frame& f) override;

    // Answers a message that does not come from `expected` by Rejected, and says false.
    bool comes_from(actor_address expected, const frame& f);
    void take_dealt(std::uint64_t minibatch);
    schedule_position next_activation() const;
    std::uint64_t minibatches_admitted() const; // of this epoch

    void advance();
    void pass_on_end();
    void start_forward(const instruction& i);
    void start_backward(const instruction& i);
    void start_update(const instruction& i);
    void start_with(weights_ptr first);
    void tell_ready();
    void tell_snapshot();
    void offer(const instruction& i);
    void send_offer();
    void enter_server();
    void leave_server();
    void refresh();
    void take_fetched(std::vector<tensor> parameters);
    void adopt(std::vector<tensor> parameters, std::vector<tensor> averages);
    void take_refreshed(const frame& f);
    void count_lag(std::uint64_t lag);
    void update_with_nothing();
    void reduce(std::vector<tensor> own, float scale);
    void average_weights();
    void take_average(std::vector<tensor> averaged);
    void start_norm();
    void add_to_norm();
    void tell_norm(double squares);
    void start_evaluation();
    void finish_forward(const instruction& i);
    void finish_backward(const instruction& i);
    void finish_update(const instruction& i);
    void finish_evaluation(std::uint64_t batch, actor_address asked_by);
    void count_loss(const instruction& i);
    void finish_epoch();
    void report_evaluation();

    result<weights_ptr> weights_from(const frame& f, weight_version version) const;
    result<void> check_activation(proto::Activation::Reader body, const frame& f) const;
    result<void> check_gradient(const instruction& i, const stashed& s) const;
    result<void> check_labels(const instruction& i) const;
    bool shares_norm() const;
    bool is_dealt() const noexcept { return options_.sync.deals_minibatches(); }
    // Of the next update; over the run. Where replicas update together, the first of theirs.
    std::uint64_t minibatch_of_update() const {
        const std::uint64_t update = epoch_->position.updates;
        return is_dealt() ? run_minibatch(update)
                          : epoch_->first_minibatch + update * options_.replica.replicas;
    }
    std::uint64_t updates_of_epoch() const { // of this replica
        return is_dealt() ? epoch_->shape.minibatches
                          : rounds_of(epoch_->whole, options_.replica.replicas);
    }
    bool average_is_due() const;
    batch_part part_of(const instruction& i) const;
    bool is_first() const noexcept { return options_.place.stage == 0; }
    bool is_last() const noexcept { return options_.place.stage + 1 == options_.place.stages; }
    // Of the run, from that of this replica's share of the epoch.
    std::uint64_t run_minibatch(std::uint64_t minibatch) const {
        if (is_dealt())
            return epoch_->dealt[minibatch];
        return epoch_->first_minibatch + options_.replica.replica +
               minibatch * options_.replica.replicas;
    }
    std::uint64_t run_minibatch(const instruction& i) const { return run_minibatch(i.minibatch); }
    void fail(const error& why) { fail(why, std::nullopt, options_.replica.replica); }
    void fail(const error& why, std::optional<std::uint32_t> lost_stage,
              std::uint32_t lost_replica);

    // Puts one piece of work on the idle device; `then` runs in this actor when it has succeeded.
    struct job {
        std::optional<instruction> what; // of the schedule; nothing for other work
        std::string label;               // in the trace
        minibatch_id minibatch{none};
        weight_version version{none};
        double flops = 0;
        std::function<result<void>(compute_context&, work_results&)> work;
        std::function<void()> then;
    };
    void submit(job j);

    stage_options options_;
    actor_address previous_;
    actor_address next_;
    actor_address source_;
    std::vector<actor_address> shards_;   // of the parameter server; shard k is beside replica k
    std::vector<actor_address> reducers_; // by replica
    weights_ptr latest_;

    std::optional<epoch_run> epoch_;
    std::deque<frame_ptr> activations_; // admitted, not yet computed
    std::deque<frame_ptr> labels_;
    std::deque<frame_ptr> gradients_;
    std::map<work_key, stashed> stash_;
    std::vector<tensor> gradient_sum_;
    bool summed_ = false;                   // gradient_sum_ is that of all replicas
    std::optional<std::uint64_t> reducing_; // the reduction under way
    std::uint64_t reductions_ = 0;
    bool asks_server_ = false; // an answer of the cache is due
    bool is_fresh_ = true;     // latest_ is what the server has, with the optimizer's state
    bool snapshot_due_ = false;
    std::vector<tensor> statistics_; // of the minibatch that was offered
    shared_norm norm_;               // of the next update
    evaluation_run evaluation_;

    // The work on the device, if any, and what it leaves behind.
    std::optional<job> running_;
    std::shared_ptr<work_results> results_;
    std::uint64_t ticket_ = 0;
};

} // namespace troupe
