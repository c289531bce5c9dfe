// How the replicas of a stage agree on its weights. One of four: each by itself (there is one
// replica, or nothing to agree on), by sums of gradients (summed_agreement.hpp), by a parameter
// server (server_agreement.hpp), by exchanging weights (exchanged_agreement.hpp).
//
// A part of a stage: it knows the stage by stage_port alone. The base class is the first of the
// four.
//
// Threads: the stage's. Errors: what its companions send out of order ends the stage.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "actors/pipeline/next_step.hpp"
#include "actors/pipeline/stage_port.hpp"

namespace troupe {

// The actors that are colocated with a stage for it to agree with its other replicas; number 0
// where there is none.
struct stage_companions {
    actor_address reducer, cache, shard, peer;
};

// Whose loss it is that a stage has noticed.
struct noticed_loss {
    error why;
    std::optional<std::uint32_t>
        replica; // of the same stage; none: it is nobody's, the stage has failed
};

class agreement {
  public:
    explicit agreement(stage_port& stage) : stage_{stage} {}
    agreement(const agreement&) = delete;
    agreement& operator=(const agreement&) = delete;
    virtual ~agreement() = default;

    // ---- set-up ----

    virtual result<void> connect(proto::ConnectStage::Reader) { return {}; }
    // The stage has its first weights. Comes to stage_port::tell_ready().
    virtual void join() { stage_.tell_ready(); }

    // ---- an epoch ----

    virtual void begin_epoch() {}
    // Whether the stage does nothing until an answer comes.
    virtual bool is_waiting() const { return false; }
    virtual demand before_pass() const { return demand::nothing; }
    virtual demand at_end() const { return demand::nothing; }
    virtual void act() {}
    virtual void act_at_end() {}

    // ---- a minibatch ----

    // What names the weights that a forward pass uses, beside their version; given back to
    // gradients_complete().
    virtual std::uint64_t reading() const { return 0; }
    // Takes the gradients of this backward pass while it runs; null: they come to take_gradients()
    // after it.
    virtual std::shared_ptr<gradient_buckets> begin_sum(const instruction&) { return nullptr; }
    virtual void take_gradients(std::vector<tensor> sum) {
        stage_.state().gradients = std::move(sum);
    }
    // The last backward pass of a minibatch is done, which has used these weights.
    virtual void gradients_complete(weight_version used, std::uint64_t reading);
    // False: the stage updates its weights by its gradients. True: it does not, or not yet.
    virtual bool take_update() { return false; }
    virtual void update_begun() {} // by the stage
    // Whether a replica takes part in an update of the others that it has no minibatch for.
    virtual bool updates_together() const { return false; }

    // ---- between two epochs ----

    // Whether weight_versions::settled() is what all replicas have, with the optimizer's state.
    virtual bool is_settled() const { return true; }
    virtual void settle() {} // asks for it; comes to stage_port::go_on()
    virtual weight_version version() const { return stage_.state().weights.latest()->version; }

    // ---- messages and losses ----

    // False: nothing that this agreement waits for.
    virtual bool take(const frame_ptr&) { return false; }
    virtual bool is_companion(actor_address) const { return false; }
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

// Those that a trainer names, which must be those that the stage's options ask for, on its node.
result<stage_companions> companions_of(const stage_options& options,
                                       proto::ConnectStage::Reader body, node_id node);

// As the stage's options and companions say.
std::unique_ptr<agreement> make_agreement(stage_port& stage, const stage_companions& own);

// The loss of one of these actors of the same stage, of which `by_replica[r]` is replica r's. A
// loss is told as errc::lost, an end of another kind as the stage's own failure.
std::optional<noticed_loss> loss_among(const std::vector<actor_address>& by_replica,
                                       actor_address who, const error& why);

// Sends a reducer whom it sums with.
result<void> join_reduction(stage_port& stage, actor_address reducer,
                            const std::vector<actor_address>& by_replica);

} // namespace troupe
