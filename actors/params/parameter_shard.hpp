// A shard of a parameter server: keeps some of a stage's parameters with their optimizer's state as immutable versions,
// applies the gradients that its workers push, and gives out the newest version where the consistency rule lets them read.
// Speaks schemas/params.capnp.
//
// A pull on the same node copies nothing: it is a reference. An update writes over the old version exactly when nobody holds
// it any more.
//
// Threads: an actor's. Device work touches only what it was given.
// Errors: a push out of turn, gradients that do not fit, an answer that is refused and work that fails end it; its workers'
// caches watch it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "actors/params/consistency.hpp"
#include "actors/runtime/actor.hpp"
#include "kernels/device/device.hpp"
#include "kernels/optim/learning_rate.hpp"
#include "kernels/optim/optimizer.hpp"
#include "schemas/params.capnp.h"

namespace troupe {

struct parameter_shard_options {
    consistency rule;
    std::uint32_t workers = 1;
    std::vector<tensor_shape> shapes; // of its parameters
    optimizer_ptr optimizer;
    learning_rates rates;
    std::shared_ptr<device> compute;
};

class parameter_shard final : public actor {
  public:
    parameter_shard(actor_context& context, parameter_shard_options options);

  private:
    // What a worker has sent in this epoch.
    struct worker_state {
        actor_address cache;
        std::uint64_t pushes = 0;    // received
        std::uint64_t staleness = 0; // of the last one applied
        frame_ptr pending;           // of a synchronous round
        frame_ptr pull;              // waits for its answer
    };

    void keep(proto::KeepShard::Reader body, const frame& f);
    void push(proto::Push::Reader body, const frame& f);
    void pull(proto::Pull::Reader body, const frame& f);
    void worker_done(proto::WorkerDone::Reader body, const frame& f);
    void read(proto::ReadShard::Reader body, const frame& f);
    void work_done(proto::WorkDone::Reader body, const frame& f);
    void on_rejected(proto::Rejected::Reader body, const frame& f) override;

    // The worker of this number if the message may be its; else answers by Rejected. Begins an epoch.
    worker_state* take(std::uint32_t worker, std::uint32_t epoch, const frame& f);
    result<void> check_push(proto::Push::Reader body, const frame& f) const;
    void advance();
    bool round_is_complete() const;
    void apply(std::vector<std::uint32_t> workers);
    void answer_pulls();
    void fail(const error& why) { quit(why); }

    parameter_shard_options options_;
    weights_ptr latest_; // null while an update is under way, and before it has any
    weight_version version_;
    std::uint32_t epoch_ = 0;
    worker_clocks clocks_; // of pushes that have been applied
    std::vector<worker_state> workers_;
    std::deque<std::uint32_t> arrived_;    // workers with a pending push, in the order of arrival
    std::vector<std::uint32_t> applying_;  // workers whose pushes the update under way is made of
    minibatch_id minibatch_{none};         // of that
    std::shared_ptr<weights_ptr> updated_; // written by the device until its WorkDone
    std::uint64_t ticket_ = 0;
};

} // namespace troupe
