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
#include <set>
#include <vector>

#include "actors/pipeline/crossing_numbers.hpp"
#include "actors/pipeline/run_roles.hpp"
#include "actors/pipeline/schedule.hpp"
#include "actors/runtime/actor.hpp"
#include "kernels/device/device.hpp"
#include "kernels/graph/stage_program.hpp"
#include "kernels/optim/clip.hpp"
#include "kernels/optim/learning_rate.hpp"
#include "kernels/optim/optimizer.hpp"
#include "schemas/collective.capnp.h"
#include "schemas/params.capnp.h"
#include "schemas/peers.capnp.h"
#include "schemas/pipeline.capnp.h"
#include "schemas/training.capnp.h"

namespace troupe {

struct stage_options {
    stage_place place;
    replica_place replica;               // of this stage
    std::vector<std::uint32_t> warm_ups; // of every stage, where they differ in replicas
    replica_sync sync;
    std::vector<run_role> beside; // what stands beside it on its node; ConnectStage says where:
    actor_address reducer;        // sums over the replicas, where they do and have something to sum
    // What the reducer is given: payloads of this encoder, which the device uses alone, or gradients as they are where there
    // is none. Of these, and of what the cache is given, some as their factors (stage_program::backward).
    std::shared_ptr<gradient_encoder> encoder;
    std::vector<bool> as_factors;
    actor_address cache;      // of the parameter server, where there is one
    actor_address shard;      // beside this stage, if there is one
    std::uint32_t worker = 0; // of the server: this replica, or all of the node's
    actor_address peer; // where replicas exchange weights: who does it; with local SGD the reducer
    proto::PipelineSchedule schedule = proto::PipelineSchedule::PIPEDREAM;
    std::shared_ptr<const stage_program> program;
    number_form_ptr activations; // how stages send them and their gradients; null: as they are
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
        std::uint64_t fetches = 0;        // of this epoch, before its forward pass
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
        std::vector<std::pair<tensor, tensor>>
            moved_in; // what was in host memory, and where it is now

        // The same weights where the device computes.
        result<weights_ptr> here(compute_context& context, const weights_ptr& w);
    };

    // One pass over the training data.
    struct epoch_run {
        std::uint32_t number = 0;
        std::uint64_t first_minibatch = 0;
        weight_version first_version;
        epoch_shape whole;                // of all replicas
        epoch_shape shape;                // of this one
        schedule_position position;       // instructions that have ended
        std::set<actor_address> ended_by; // of the stage before
        bool data_ended = false;
        bool end_passed_on = false;
        std::vector<std::uint64_t>
            dealt; // minibatches over the run that came, where they are dealt
        std::uint64_t exchanged_after = 0; // updates, the last time
        bool exchanged_last = false;       // what is handed over at the end has been
        bool entered = false;              // the weights are the server's as the epoch began
        std::uint64_t fetches = 0;         // after that
        std::uint64_t pushes = 0;
        std::uint64_t gradient_fetches =
            0;                       // of the gradient that is offered next: its stashed::fetches
        std::vector<tensor> accrued; // gradients that are yet to be pushed, summed
        std::uint64_t accrued_fetches = 0;   // of the oldest of these
        std::uint64_t accrued_minibatch = 0; // the newest of these
        bool has_pushed = false;             // since the last fetch
        bool left_server = false;            // the server has the share of all replicas
        std::vector<std::uint64_t> lags;
        std::uint64_t dropped = 0;
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
    result<void> take_beside(proto::ConnectStage::Reader body);
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
    void gradients_ready(proto::GradientsReady::Reader body, const frame& f);
    void reduced(proto::Reduced::Reader body, const frame& f);
    void exchanged(proto::Exchanged::Reader body, const frame& f);
    void take_common(proto::Common::Reader body, const frame& f);
    void server_joined(proto::ServerJoined::Reader body, const frame& f);
    void fetched(proto::Fetched::Reader body, const frame& f);
    void server_left(proto::EpochFinished::Reader body, const frame& f);
    void work_done(proto::WorkDone::Reader body, const frame& f);

    void on_down(actor_address who, const error& why) override;
    void on_rejected(proto::Rejected::Reader body, const frame& f) override;

    // Answers a message that does not come from `expected` by Rejected, and says false.
    bool comes_from(actor_address expected, const frame& f);
    bool comes_from_one_of(const std::vector<actor_address>& expected, const frame& f);
    // Of a neighbouring stage the replica that has this minibatch of the run.
    actor_address replica_of(const std::vector<actor_address>& stage,
                             std::uint64_t minibatch) const;
    bool is_early(proto::Activation::Reader body) const;
    result<void> take_activation(const frame_ptr& f);
    void send_begin(proto::EpochBegin::Reader body);
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
    void hand_over();
    void send_offer(std::vector<tensor> gradients, std::uint64_t minibatch, std::uint64_t fetches,
                    bool fetch);
    void accrue(std::vector<tensor> gradients);
    void push_or_step(const std::vector<tensor>& gradients);
    void flush_accrued(bool fetch);
    void step_alone(std::vector<tensor> from, std::vector<tensor> gradients);
    void enter_server();
    void leave_server();
    void refresh();
    void take_fetched(std::vector<tensor> parameters);
    void adopt(std::vector<tensor> parameters, std::vector<tensor> averages);
    void take_refreshed(const frame& f);
    std::uint64_t version_to_tell() const { // the trainer
        return (options_.cache ? server_version_ : latest_->version).value();
    }
    void finish_refresh();
    void count_lag(std::uint64_t lag);
    void update_with_nothing();
    // Of the sum of gradients: where only a stage has replicas, each one's are of a minibatch of its own.
    float scale_of_gradients() const {
        return stages_differ() ? 1.0f / static_cast<float>(options_.replica.replicas) : 1;
    }
    bool sums_during(const instruction& backward) const;
    void begin_reduction(float scale);
    void give(std::size_t first, std::vector<tensor> own);
    void join_peers();
    void hand_over(bool last);
    void add_up();
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

    result<weights_ptr> weights_from(proto::ConnectStage::Reader body, const frame& f) const;
    result<void> check_activation(proto::Activation::Reader body, const frame& f) const;
    result<void> check_gradient(const instruction& i, const stashed& s) const;
    result<void> check_labels(const instruction& i) const;
    bool shares_norm() const;
    bool stages_differ() const noexcept { return !options_.warm_ups.empty(); }
    bool is_dealt() const noexcept { return options_.sync.deals_minibatches(); }
    // Of the next update; over the run. Where replicas update together, the first of theirs.
    std::uint64_t minibatch_of_update() const {
        const std::uint64_t update = epoch_->position.updates;
        return is_dealt() ? run_minibatch(update)
                          : epoch_->first_minibatch + update * options_.replica.replicas;
    }
    // Of these the one of this replica, which traces name it by.
    std::uint64_t own_minibatch_of_update() const {
        const std::uint64_t update = epoch_->position.updates;
        return update < epoch_->shape.minibatches ? run_minibatch(update) : minibatch_of_update();
    }
    std::uint64_t updates_of_epoch() const { // of this replica
        return is_dealt() ? epoch_->shape.minibatches
                          : rounds_of(epoch_->whole, options_.replica.replicas);
    }
    bool exchange_is_due() const;
    bool last_exchange_is_due() const;
    bool waits_for_exchange() const;
    std::vector<tensor> handed_over() const;
    template <class Body>
    void hand_to_peer(frame_builder<Body> message, const std::function<void()>& then = nullptr);
    std::uint64_t minibatch_of_last_update() const; // over the run
    std::shared_ptr<weights> with_exchanged(const frame& f) const;
    // What is evaluated and saved.
    const weights_ptr& settled() const noexcept { return common_ ? common_ : latest_; }
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

    // ---- where tensors lie (stage_memory.cpp) ----
    enum class way : std::uint8_t {
        beside,     // computed on the same device
        by_network, // of nodes that all take memory of GPUs
        by_host,
    };
    way to_previous_ = way::by_host, to_next_ = way::by_host;
    way way_to(const std::vector<actor_address>& stage, bool is_beside) const;
    // Puts what goes such a way where whoever takes it can read it, at the end of the work that made it; in this form.
    static result<void> hand_on(compute_context& context, std::span<tensor> all, way w,
                                const number_form* form);
    // What comes from the stages before and behind this one while it trains; null: as it is.
    std::shared_ptr<const crossing_numbers> from_previous_, from_next_;
    bool has_own_memory() const; // the device: what arrives is brought in, what is sent taken out
    // Calls `then` with these in host memory, at once or when the device has taken them out. Only while it is idle.
    void take_out_then(std::vector<tensor> tensors, std::function<void(std::vector<tensor>)> then);
    error with_holdings(const error& why) const;
    void keep_brought_in(); // weights that came by a message stay where a pass has brought them

    stage_options options_;
    std::vector<actor_address> previous_; // one, or where stages differ all replicas by number
    std::vector<actor_address> next_;     // likewise; none of the last stage
    actor_address source_;
    std::vector<actor_address> shards_;   // of the parameter server; shard k is beside replica k
    std::vector<actor_address> reducers_; // by replica
    std::vector<actor_address> peers_;    // by replica
    weights_ptr latest_;
    weights_ptr
        common_; // between two epochs: what all replicas have together, where that is not their own

    std::optional<epoch_run> epoch_;
    std::deque<frame_ptr> activations_; // admitted, not yet computed
    std::map<std::uint64_t, frame_ptr>
        early_; // by minibatch; from replicas that are ahead of others
    std::deque<frame_ptr> labels_;
    std::deque<frame_ptr> gradients_; // from several replicas in the order of their minibatches
    std::map<work_key, stashed> stash_;
    std::vector<tensor> gradient_sum_;
    bool summed_ = false;                   // gradient_sum_ is that of all replicas
    std::optional<std::uint64_t> reducing_; // the reduction under way
    float reduction_scale_ = 1;
    std::uint64_t reductions_ = 0;
    bool exchanging_ = false; // an answer of the peer is due
    frame_ptr addition_;      // the Exchanged that is added to the weights, after the next update
    std::optional<weight_version> joins_at_; // among peers at work, whose weights are yet to come
    bool asks_server_ = false; // an answer of the cache is due, or of the peer between two epochs
    weight_version
        server_version_;   // after the last epoch: it need not make an update by every minibatch
    bool is_fresh_ = true; // settled() is what server or peers have, with the optimizer's state
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
