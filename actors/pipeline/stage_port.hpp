// What the parts of a stage know of it: its agreement with other replicas, and its evaluation.
// Parts do not know each other; what they share is the stage's state, and what they do goes by way
// of the stage, the executor (stage_actor.hpp).
//
// Threads: the stage's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/pipeline/gradient_buckets.hpp"
#include "actors/pipeline/stage_arrivals.hpp"
#include "actors/pipeline/stage_counts.hpp"
#include "actors/pipeline/stage_options.hpp"
#include "actors/pipeline/weight_versions.hpp"

namespace troupe {

// What is known of a stage between two messages. One place for each fact: parts read it and write
// what is theirs to write.
struct stage_state {
    weight_versions weights;
    stage_arrivals arrivals;
    schedule_position position; // instructions of the epoch that have ended
    // Of the next update: gradients of the parameters, summed over microbatches and, where replicas
    // sum them, over these; then the statistics that running averages are of.
    std::vector<tensor> gradients;
    stage_counts counts; // of the epoch

    const epoch_share& share() const { return arrivals.share(); }
    // The update that comes next in this epoch.
    minibatch_id traced_minibatch() const {
        return minibatch_id{share().own_minibatch_of(position.updates)};
    }
    run_position update_position() const {
        return {share().number(), share().minibatch_of(position.updates)};
    }
};

// One piece of work on the stage's device; `then` runs in the stage when it has succeeded, and the
// stage goes on.
struct stage_work {
    std::string label; // in the trace, and before what is said of its failure
    minibatch_id minibatch{none};
    weight_version version{none};
    double flops = 0;
    task_urgency urgency = task_urgency::soon;
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
    // Whether the message is of this actor; else answers by Rejected.
    virtual bool comes_from(actor_address expected, const frame& f) = 0;

    // Only while the device does nothing for the stage, or from a piece's `then`.
    virtual void submit(stage_work work) = 0;
    // Calls `then` with these in host memory, at once or when the device has copied them. As
    // submit().
    virtual void copy_to_host_then(std::vector<tensor> tensors,
                                   std::function<void(std::vector<tensor>)> then) = 0;
    // Brings what a backward pass has ready to the stage, from the device's thread: as
    // GradientsReady.
    virtual gradient_buckets::hand_over to_gradients_ready() = 0;

    virtual void tell_ready() = 0; // to the trainer: the stage has its weights, and its peers
    virtual void go_on() = 0;      // an answer has come: asks what is next
    virtual void fail(const error& why) = 0;

  protected:
    virtual void send_built(actor_address to, proto::Envelope::Builder envelope,
                            const std::function<frame_ptr()>& finish) = 0;
};

} // namespace troupe
