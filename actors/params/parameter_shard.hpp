// A shard of a parameter server: keeps some of a stage's parameters with their optimizer's state as immutable versions,
// applies the gradients that its workers push, and gives out the newest version where the consistency rule lets them read.
// Speaks schemas/params.capnp.
//
// A pull on the same node copies nothing: it is a reference. An update writes over the old version exactly when nobody
// holds it any more. Where weights are sent in a form of fewer bits, those of a version are encoded once, with the
// version: all who pull it get the same.
//
// Threads: an actor's. Device work touches only what it was given.
// Errors: a push out of turn, gradients or payloads that do not fit, an answer that is refused and work that fails end it;
// its workers' caches watch it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "actors/params/shard_ledger.hpp"
#include "actors/params/shard_update.hpp"
#include "actors/runtime/actor.hpp"
#include "actors/runtime/work_queue.hpp"
#include "actors/runtime/worker_board.hpp"
#include "kernels/device/device.hpp"
#include "kernels/optim/learning_rate.hpp"
#include "schemas/params.capnp.h"

namespace troupe {

struct parameter_shard_options {
    shard_update_rules rules;
    std::uint32_t workers = 1;
    std::vector<tensor_shape> shapes; // of its parameters
    learning_rates rates;
    std::shared_ptr<device> compute;
    actor_address trainer; // which alone says that a worker is lost, or joins; may be none
};

class parameter_shard final : public actor {
  public:
    parameter_shard(actor_context& context, parameter_shard_options options);

  private:
    struct worker_state {
        actor_address cache;
        std::uint64_t staleness = 0; // of its last push that was applied
        std::uint32_t dropped = 0;   // pushes since its last answer
        frame_ptr pull;              // waits for its answer
        std::deque<weights_ptr>
            pulled; // where delays are compensated: what its pushes may be of, as it was sent
    };
    // What an update under way leaves for its completion; written by the device, then read by the actor.
    struct work_results {
        shard_update made;
        std::vector<tensor> mean_square;
    };

    void keep(proto::KeepShard::Reader body, const frame& f);
    void push(proto::Push::Reader body, const frame& f);
    void pull(proto::Pull::Reader body, const frame& f);
    void worker_done(proto::WorkerDone::Reader body, const frame& f);
    void read(proto::ReadShard::Reader body, const frame& f);
    void worker_lost(proto::WorkerLost::Reader body, const frame& f);
    void worker_joined(proto::WorkerJoined::Reader body, const frame& f);
    void on_rejected(proto::Rejected::Reader body, const frame& f) override;

    // The worker of this number if the message may be its; else answers by Rejected. Begins an epoch.
    worker_state* take(std::uint32_t worker, std::uint32_t epoch, const frame& f);
    result<void> check_push(proto::Push::Reader body, const frame& f) const;
    void advance();
    void apply(const std::vector<arrived_push>& pushes);
    void applied(work_results& results, const std::vector<arrived_push>& pushes);
    std::size_t gradients_needed() const noexcept; // for an update
    pushed_gradients take_pushed(const arrived_push& push);
    void answer_pulls();
    // Whether a worker's read has to wait; if so, it tells inspectors for whom, and calls that one back where it may itself
    // wait for this worker at another shard.
    bool waits(std::uint32_t worker);
    void call_back(std::uint32_t worker);
    void answer(worker_state& worker);
    const std::vector<tensor>& sent() const noexcept { // of the latest version, to who pulls it
        return options_.rules.pulls ? sent_ : latest_->parameters;
    }
    void end_epoch();
    void fail(const error& why) { quit(why); }

    parameter_shard_options options_;
    shard_ledger ledger_;
    weights_ptr latest_;       // null while an update is under way, and before it has any
    std::vector<tensor> sent_; // its parameters in the form of pulls, if there is one
    std::uint32_t epoch_ = 0;
    bool epoch_runs_ = false;
    std::vector<worker_state> workers_;
    std::map<std::uint64_t, frame_ptr> pushed_; // not applied yet, by number of arrival
    std::uint64_t arrivals_ = 0;
    std::vector<tensor> mean_square_; // of gradients, where delays are compensated by it
    work_queue work_;
    std::shared_ptr<worker_board> board_ = std::make_shared<worker_board>(); // for inspectors
};

} // namespace troupe
