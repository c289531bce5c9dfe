// Agreement: how the replicas of a stage reach consensus on its weights. There are four kinds: none
// (one replica, or no weights), sums of gradients (summed_agreement.hpp), a parameter server
// (server_agreement.hpp), exchange of weights (exchanged_agreement.hpp).
//
// A part of a stage: it knows the stage by stage_port alone. The base class is the kind "none".
//
// Threads: the stage's. Errors: a companion's message out of order ends the stage.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "actors/pipeline/shape/next_step.hpp"
#include "actors/pipeline/stage/stage_port.hpp"

namespace troupe {

class node_runtime;

// The actors of one role that connect the replicas of a stage.
struct stage_companion {
    run_role role;
    actor_address own;                     // on the stage's node; number 0: there is none
    std::vector<actor_address> by_replica; // number 0: the replica is lost
};

// By role; a role that no replica of the stage has is left out.
using stage_companions = std::vector<stage_companion>;

// A loss that a stage has noticed.
struct noticed_loss {
    error why;
    std::uint32_t replica = 0; // the lost replica of the same stage
};

class agreement {
  public:
    explicit agreement(stage_port& stage) : stage_{stage} {}
    agreement(const agreement&) = delete;
    agreement& operator=(const agreement&) = delete;
    virtual ~agreement() = default;

    // ---- set-up ----

    virtual result<void> connect(proto::ConnectStage::Reader) { return {}; }
    // Called when the stage has its first weights. Leads to stage_port::tell_ready().
    virtual void join() { stage_.tell_ready(); }

    // ---- an epoch ----

    virtual void begin_epoch() {}
    // True: the stage starts no work until an answer comes.
    virtual bool is_waiting() const { return false; }
    virtual demand before_pass() const { return demand::nothing; }
    virtual demand at_end() const { return demand::nothing; }
    virtual void act() {}
    virtual void act_at_end() {}

    // ---- a minibatch ----

    // Identifies the weights that a forward pass uses, in addition to their version; it is passed
    // to gradients_complete().
    virtual std::uint64_t reading() const { return 0; }
    // The buckets that take the gradients of this backward pass while it runs; null: they go to
    // take_gradients() after it.
    virtual std::shared_ptr<gradient_buckets> begin_sum(const instruction&) { return nullptr; }
    virtual void take_gradients(std::vector<tensor> sum) {
        stage_.state().gradients = std::move(sum);
    }
    // Called after the last backward pass of a minibatch, which used these weights.
    virtual void gradients_complete(weight_version used, std::uint64_t reading);
    // False: the stage updates its weights by its gradients. True: it does not, or not yet.
    virtual bool take_update() { return false; }
    virtual void update_begun() {} // by the stage
    // True: a replica takes part in the others' update also if it has no minibatch for it.
    virtual bool updates_together() const { return false; }

    // ---- between two epochs ----

    // True: weight_versions::settled() are the consensus of all replicas, with the optimizer's
    // state.
    virtual bool is_settled() const { return true; }
    virtual void settle() {} // requests that; leads to stage_port::go_on()
    virtual weight_version version() const { return stage_.state().weights.latest()->version; }

    // ---- messages and losses ----

    // False: this agreement expects no message of this type.
    virtual bool take(const frame_ptr&) { return false; }
    virtual bool is_companion(actor_address) const { return false; }
    // Called for an actor whose node is lost.
    virtual std::optional<noticed_loss> lose(actor_address, const error&) const {
        return std::nullopt;
    }

  protected:
    stage_port& stage() const noexcept { return stage_; }
    const stage_options& options() const { return stage_.options(); }
    stage_state& state() const { return stage_.state(); }

  private:
    stage_port& stage_;
};

// The companions that a trainer names. errc::protocol unless this stage's own are those that its options require, on `node`.
result<stage_companions> companions_named(const agreement_options& options,
                                          proto::ConnectStage::Reader body, node_id node);

// errc::protocol if one of these is an actor of another run than `run`. One that has ended passes: its
// loss is told to those who watch it.
result<void> check_run(const stage_companions& all, const node_runtime& node, std::uint64_t run);

// The agreement of the kind that the companions imply.
std::unique_ptr<agreement> make_agreement(stage_port& stage, const stage_companions& all);

// The loss of `who`, if it is one of these actors of the same stage; `by_replica[r]` is replica r's.
std::optional<noticed_loss> loss_among(const std::vector<actor_address>& by_replica,
                                       actor_address who, const error& why);

// Sends a reducer the reducers of all replicas, by rank, and watches them.
result<void> join_reduction(stage_port& stage, actor_address reducer,
                            const std::vector<actor_address>& by_replica);

} // namespace troupe
