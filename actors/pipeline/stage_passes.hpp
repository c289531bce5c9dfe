// The forward and backward passes of a stage: their work, what a microbatch keeps between the two,
// and what follows them: Activation, Gradient, and at the last stage MinibatchDone.
//
// A part of a stage: it knows the stage by stage_port alone. The stage submits the work and counts
// the passes; it gives the gradients to the agreement of its replicas.
//
// Threads: the stage's; the work touches only its captures. Ownership: a pass holds the weights that
// it uses (weight_versions) from its forward to the end of its backward work. Errors: errc::protocol
// for labels and gradients that do not fit their pass.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "actors/pipeline/stage_holdings.hpp"
#include "actors/pipeline/stage_port.hpp"

namespace troupe {

// The result of a backward pass, for the agreement of the stage's replicas.
struct pass_gradients {
    std::vector<tensor> sum;   // of weight gradients, over microbatches
    weight_version used;       // by both passes
    std::uint64_t reading = 0; // agreement::reading() before the forward pass
};

class stage_passes {
  public:
    explicit stage_passes(stage_port& stage) : stage_{stage} {}

    // True if the tensors have arrived from which this forward or backward pass begins.
    bool has_inputs(const instruction& i) const;

    // The work of the next passes, which have their inputs.
    result<stage_work> forward(const instruction& i, std::uint64_t reading);
    // `buckets` take the gradients while it runs, if there are any; `take` gets the others after it,
    // before Gradient is sent.
    result<stage_work> backward(const instruction& i, std::shared_ptr<gradient_buckets> buckets,
                                std::function<void(pass_gradients)> take);

    // Microbatches whose forward pass has begun and whose backward pass has not ended.
    std::size_t in_flight() const noexcept { return stash_.size(); }
    kept_activations kept() const;

  private:
    // A microbatch between its forward and its backward pass.
    struct stashed {
        saved_activations saved;
        tensor loss_gradient;             // last stage only
        std::uint64_t reading = 0;        // agreement::reading() before the forward pass
        std::uint64_t sender_version = 0; // the Activation's, echoed in the Gradient
    };

    // The results of a pass; written on the device's thread, then read by the actor.
    struct forward_outcome {
        forward_result forward;
        loss_result loss;
    };
    struct backward_outcome {
        std::vector<tensor> input_gradients;
        std::vector<tensor> sum; // of weight gradients, over microbatches
    };

    const stage_options& options() const { return stage_.options(); }
    stage_state& state() const { return stage_.state(); }
    batch_part part_of(const instruction& i) const;
    std::uint32_t samples_of(const instruction& i) const;
    void finish_forward(const instruction& i, forward_outcome& made);
    void count_loss(const instruction& i, const loss_result& loss);
    void finish_backward(const instruction& i, backward_outcome& made,
                         const std::function<void(pass_gradients)>& take);

    stage_port& stage_;
    std::map<pass_id, stashed> stash_;
};

} // namespace troupe
