// The interface of a stage to its parts: its passes, its norm, its agreement with other replicas, and
// its evaluation. Parts do not know each other; they share the stage's state, and act through the
// stage, the executor (stage_actor.hpp).
//
// Threads: the stage's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/pipeline/stage/gradient_buckets.hpp"
#include "actors/pipeline/stage/stage_arrivals.hpp"
#include "actors/pipeline/stage/stage_counts.hpp"
#include "actors/pipeline/stage/stage_neighbours.hpp"
#include "actors/pipeline/stage/stage_options.hpp"
#include "actors/pipeline/stage/weight_versions.hpp"

namespace troupe {

// The state of a stage between two messages. Each fact has one place: parts read all of it, and each
// field is written by the part that it belongs to.
struct stage_state {
    stage_neighbours neighbours; // once the stage is connected
    weight_versions weights;
    stage_arrivals arrivals;
    stage_order order; // moved by the executor alone
    // For the next update: gradients of the parameters, summed over microbatches and, where replicas
    // sum them, over replicas; then the statistics for running averages.
    std::vector<tensor> gradients;
    stage_counts counts; // of the epoch

    const epoch_share& share() const { return arrivals.share(); }
    // The next update in this epoch: its minibatch in traces, and that of its position in the run.
    minibatch_id traced_minibatch() const {
        return minibatch_id{share().own_minibatch_of(order.updates())};
    }
    std::uint64_t update_position() const { return share().minibatch_of(order.updates()); }
};

// One piece of work on the stage's device; `then` runs in the stage when it has succeeded, and the
// stage goes on.
struct stage_work {
    std::string label; // in the trace, and in the error if the work fails
    minibatch_id minibatch{none};
    weight_version version{none};
    double flops = 0;
    task_priority priority = task_priority::soon;
    std::function<result<void>(compute_context&, copied_weights&)> work;
    std::function<void()> then;
};

class stage_port {
  public:
    virtual ~stage_port() = default;

    virtual const stage_options& options() const = 0;
    virtual stage_state& state() = 0;
    virtual actor_address address() const = 0;

    template <class Body>
    void send(actor_address to, frame_builder<Body>&& message) {
        send_built(to, message.envelope(), [&message] { return std::move(message).finish(); });
    }
    virtual void watch(actor_address who) = 0;
    // True if the message comes from this actor; otherwise it is answered by Rejected.
    virtual bool comes_from(actor_address expected, const frame& f) = 0;

    // May be called while the device is idle for the stage, or from a piece's `then`.
    virtual void submit(stage_work work) = 0;
    // Calls `then` with these tensors in host memory, at once or when the device has copied them. May
    // be called when submit() may.
    virtual void copy_to_host_then(std::vector<tensor> tensors,
                                   std::function<void(std::vector<tensor>)> then) = 0;
    // A function for the device's thread that sends the stage the gradients which a backward pass has
    // ready, as GradientsReady.
    virtual gradient_buckets::hand_over to_gradients_ready() = 0;

    virtual void tell_ready() = 0; // tells the trainer that the stage has its weights and its peers
    // The agreement has made the next version, in place of the stage's update.
    virtual void finish_update() = 0;
    virtual void go_on() = 0; // after an answer: starts the next step if the device is idle
    virtual void fail(const error& why) = 0;

  protected:
    virtual void send_built(actor_address to, proto::Envelope::Builder envelope,
                            const std::function<frame_ptr()>& finish) = 0;
};

} // namespace troupe
