// The actor that feeds a pipeline. It takes the place of a stage -1, speaks the data source's side of
// schemas/pipeline.capnp, and takes orders from a trainer (schemas/training.capnp).
//
// A background thread of its own prepares minibatches ahead of use and draws an epoch's order, so that the pipeline never
// waits for them. Microbatches are sent ahead as far as the first stage can have in flight, plus `ahead`. Preparation of
// the next minibatches overlaps with training.
//
// Threads: its actor's. The background thread touches the data set, which is immutable, and pass_batches, which it alone
// uses.
// Errors: a failed preparation (memory) ends the run: it sends StageFailed to the trainer, as a stage does.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "actors/data/samples/batches.hpp"
#include "actors/data/samples/dataset.hpp"
#include "actors/pipeline/shape/epoch_shape.hpp"
#include "actors/pipeline/shape/replica_sync.hpp"
#include "actors/runtime/actor.hpp"
#include "actors/runtime/work_queue.hpp"
#include "kernels/device/device.hpp"
#include "kernels/optim/run_shape.hpp"
#include "schemas/pipeline.capnp.h"
#include "schemas/training.capnp.h"

namespace troupe {

struct data_source_options {
    std::shared_ptr<const data_sets> data;
    std::shared_ptr<device> io; // prepares minibatches; not a compute device
    run_shape shape;
    std::uint32_t microbatches = 1;
    std::int32_t ignored_label = troupe::ignored_label; // label that the loss ignores
    std::uint64_t seed = 0;
    bool shuffle = true;
    // Minibatches prepared and sent beyond those in flight in the first stage.
    std::uint32_t ahead = 2;
    std::uint32_t in_flight = 1;             // most microbatches in flight in the first stage
    std::uint32_t stages = 1;                // of a pipeline
    std::vector<actor_address> first_stages; // by replica; the first one evaluates
    // By replica; their number may differ from that of the first stages.
    std::vector<actor_address> last_stages;
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
        std::shared_ptr<pass_batches> batches; // used by the background thread only
        // Training: the shape of the epoch after `skipped`.
        epoch_shape shape;
        std::uint64_t first_minibatch = 0;
        std::uint64_t skipped = 0;  // minibatches of the plan that are not repeated
        std::uint64_t prepared = 0; // requested from the background thread
        std::uint64_t sent = 0;     // minibatches, or evaluation batches
        std::uint64_t answered = 0; // microbatches, or evaluation batches
        std::uint64_t microbatches_sent = 0;
        std::vector<std::uint64_t> dealt;      // minibatches assigned, by replica
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

    // True if the message comes from `expected`; else answers Rejected.
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
    std::set<std::size_t> lost_;               // lost replicas
    std::deque<std::shared_ptr<batch>> ready_; // prepared minibatches, in order
    work_queue work_;                          // preparation of minibatches, in order
};

} // namespace troupe
