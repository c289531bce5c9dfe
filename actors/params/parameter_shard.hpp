// A shard of a parameter server. It keeps some of a stage's parameters and their optimizer state as immutable versions,
// applies the gradients that its workers push, and answers pulls with the newest version when the consistency rule allows
// it.
// Protocol: schemas/params.capnp.
//
// A pull on the same node is answered by reference, without a copy. An update overwrites the old version exactly when
// nobody else holds it. Where weights are sent in a reduced-precision form, each version is encoded once, so that all
// workers get the same bits.
//
// Threads: its actor's. Device work touches only what it was given.
// Errors: a push out of turn, gradients or payloads that do not fit, a rejected answer and failed work end it; its workers'
// caches watch it.
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
    std::vector<tensor_shape> shapes; // one per parameter of the shard
    learning_rates rates;
    std::shared_ptr<device> compute;
    // The only sender of WorkerLost and WorkerJoined; may be none.
    actor_address trainer;
};

class parameter_shard final : public actor {
  public:
    parameter_shard(actor_context& context, parameter_shard_options options);

  private:
    struct worker_state {
        actor_address cache;
        std::uint64_t staleness = 0; // of its last applied push, in updates
        std::uint32_t dropped = 0;   // pushes dropped since its last answer
        frame_ptr pull;              // pull that is not answered yet; may be null
        // Versions, as sent, that its next pushes may be based on; only for delay compensation.
        std::deque<weights_ptr> pulled;
    };
    // Results of an update for its completion; written by the device, then read by the actor.
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

    // State of this worker if the message may be from it; else answers Rejected and returns null. May begin an epoch.
    worker_state* take(std::uint32_t worker, std::uint32_t epoch, const frame& f);
    result<void> check_push(proto::Push::Reader body, const frame& f) const;
    void advance();
    void apply(const std::vector<arrived_push>& pushes);
    void applied(work_results& results, const std::vector<arrived_push>& pushes);
    std::size_t gradients_needed() const noexcept; // minimum of an update
    pushed_gradients take_pushed(const arrived_push& push);
    void answer_pulls();
    // True if a worker's read has to wait. Shows inspectors for which worker, and calls that one back if it may itself be
    // waiting for this worker at another shard.
    bool waits(std::uint32_t worker);
    void call_back(std::uint32_t worker);
    void answer(worker_state& worker);
    // Parameters of the latest version in the form of pulls.
    const std::vector<tensor>& sent() const noexcept {
        return options_.rules.pulls ? sent_ : latest_->parameters;
    }
    void end_epoch();
    void fail(const error& why) { quit(why); }

    parameter_shard_options options_;
    shard_ledger ledger_;
    weights_ptr latest_;       // null during an update and before the first weights
    std::vector<tensor> sent_; // its parameters in the form of pulls; empty without one
    std::uint32_t epoch_ = 0;
    bool epoch_runs_ = false;
    std::vector<worker_state> workers_;
    std::map<std::uint64_t, frame_ptr> pushed_; // pushes not applied yet, by arrival number
    std::uint64_t arrivals_ = 0;
    std::vector<tensor> mean_square_; // running mean of squared gradients, for delay compensation
    work_queue work_;
    std::shared_ptr<worker_board> board_ = std::make_shared<worker_board>(); // for inspectors
};

} // namespace troupe
