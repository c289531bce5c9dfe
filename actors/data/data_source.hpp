// The actor that feeds a pipeline: it stands where a stage -1 would, and speaks the data source's side of
// schemas/pipeline.capnp, at the orders of a trainer (schemas/training.capnp).
//
// Minibatches are prepared ahead of use on a worker of their own, which also draws the order of an epoch, so that the
// pipeline never waits for them, and sent as many microbatches ahead as the first stage can have in flight, plus `ahead`.
// Preparing the next batch overlaps with training on this one.
//
// Threads: an actor's. The worker touches the data set, which nobody changes, and pass_batches, which nobody else does.
// Errors: a failed preparation (memory) ends the run: StageFailed to the trainer, as from a stage.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "actors/data/batches.hpp"
#include "actors/data/dataset.hpp"
#include "actors/pipeline/replica_sync.hpp"
#include "actors/pipeline/run_shape.hpp"
#include "actors/pipeline/schedule.hpp"
#include "actors/runtime/actor.hpp"
#include "actors/runtime/work_queue.hpp"
#include "kernels/device/device.hpp"
#include "schemas/pipeline.capnp.h"
#include "schemas/training.capnp.h"

namespace troupe {

struct data_source_options {
    std::shared_ptr<const data_sets> data;
    std::shared_ptr<device> worker; // prepares batches; not a device that computes
    proto::PipelineSchedule schedule = proto::PipelineSchedule::PIPEDREAM;
    run_shape shape;
    std::uint32_t microbatches = 1;
    std::int32_t ignored_label = troupe::ignored_label; // by the loss
    std::uint64_t seed = 0;
    bool shuffle = true;
    std::uint32_t ahead =
        2; // minibatches prepared and sent beyond what the first stage has in flight
    stage_place first_place{};               // of the first stage, for what it holds
    std::vector<actor_address> first_stages; // by replica; the first one evaluates
    std::vector<actor_address> last_stages;  // by replica, perhaps of another number
    replica_sync sync;
    actor_address trainer;
};

class data_source final : public actor {
  public:
    data_source(actor_context& context, data_source_options options);

  private:
    class pass_batches;

    // One pass over a data set, training or evaluation.
    struct feeding {
        bool training = false;
        std::uint32_t epoch = 0;
        std::shared_ptr<pass_batches> batches; // the worker's
        epoch_shape shape;                     // training: of what is left after `skipped`
        std::uint64_t first_minibatch = 0;
        std::uint64_t skipped = 0;  // minibatches of the plan that are not run again
        std::uint64_t prepared = 0; // asked of the worker
        std::uint64_t sent = 0;     // minibatches, or evaluation batches
        std::uint64_t answered = 0; // microbatches, or evaluation batches, whose answer came
        std::uint64_t microbatches_sent = 0;
        std::vector<std::uint64_t> dealt;      // minibatches, by replica
        std::vector<std::uint64_t> unanswered; // microbatches, by replica
    };

    void run_epoch(proto::RunEpoch::Reader body, const frame& f);
    void run_evaluation(proto::RunEvaluation::Reader body, const frame& f);
    void stop_data(proto::StopData::Reader body, const frame& f);
    void replica_lost(proto::ReplicaLost::Reader body, const frame& f);
    void replica_joined(proto::ReplicaJoined::Reader body, const frame& f);
    void gradient(proto::Gradient::Reader body, const frame& f);
    void evaluation_taken(proto::EvaluationTaken::Reader body, const frame& f);

    void on_rejected(proto::Rejected::Reader body, const frame& f) override;

    // Answers a message that does not come from `expected` by Rejected, and says false.
    bool comes_from(actor_address expected, const frame& f);
    std::optional<std::size_t> find_replica(actor_address first_stage) const;
    std::size_t next_replica() const;
    void prepare();
    void feed();
    void send_update();
    void send_minibatch(const batch& b, std::uint64_t counted);
    std::size_t minibatches_of_update() const;
    void send_evaluation_batch(const batch& b);
    void finish();
    bool may_send() const;
    void fail(const error& why);

    data_source_options options_;
    std::optional<feeding> feeding_;
    std::set<std::size_t> lost_;               // replicas
    std::deque<std::shared_ptr<batch>> ready_; // prepared, in order
    work_queue work_;                          // what the worker prepares, in order
};

} // namespace troupe
