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

#include "actors/pipeline/stage/stage_holdings.hpp"
#include "actors/pipeline/stage/stage_port.hpp"

namespace troupe {

// The result of a backward pass, for the agreement of the stage's replicas.
struct pass_gradients {
    std::vector<tensor> sum;   // of weight gradients, over microbatches
    weight_version used;       // by the forward pass
    std::uint64_t reading = 0; // agreement::reading() before the forward pass
};

class stage_passes {
  public:
    explicit stage_passes(stage_port& stage) : stage_{stage} {}

    // True if the tensors have arrived from which this forward or backward pass begins.
    bool has_inputs(const instruction& i) const;

    // The work of the next passes, which have their inputs.
    result<stage_work> forward(const instruction& i, std::uint64_t reading);
    // A backward pass as a whole, or its second half. `buckets` take the gradients of the weights
    // while it runs, if there are any; `take` gets the others after it. A whole pass sends Gradient
    // then.
    result<stage_work> backward(const instruction& i, std::shared_ptr<gradient_buckets> buckets,
                                std::function<void(pass_gradients)> take);
    // The first half, which sends Gradient.
    result<stage_work> backward_input(const instruction& i);

    // Microbatches whose forward pass has begun and whose backward pass has not ended.
    std::size_t in_flight() const noexcept { return stash_.size(); }
    kept_activations kept() const;

  private:
    // A microbatch between its forward and its backward pass.
    struct stashed {
        saved_activations saved;
        tensor loss_gradient;             // last stage only
        half_backward half;               // between the halves of the backward pass
        weight_version version;           // that the forward pass used
        std::uint64_t reading = 0;        // agreement::reading() before it
        std::uint64_t sender_version = 0; // the Activation's, echoed in the Gradient
    };

    // The results of a pass; written on the device's thread, then read by the actor.
    struct forward_outcome {
        forward_result forward;
        loss_result loss;
    };
    // A backward pass, or its first half, before its work.
    struct backward_inputs {
        weights_ptr used;
        batch_part part;
        std::uint32_t samples = 0;
        saved_activations saved;
        std::vector<tensor> gradients;
        tensor_route to_previous = tensor_route::by_host;
        std::shared_ptr<const crossing_numbers> arrives_as;
        number_form_ptr sent_as;
    };

    const stage_options& options() const { return stage_.options(); }
    stage_state& state() const { return stage_.state(); }
    bool stashes() const { return options().at.schedule.stashes_weights; }
    // The weights of a microbatch's backward pass: its forward pass's, or the latest.
    weights_ptr weights_of(pass_id pass) const {
        return stashes() ? state().weights.held(pass) : state().weights.latest();
    }
    batch_part part_of(const instruction& i) const;
    std::uint32_t samples_of(const instruction& i) const;
    void finish_forward(const instruction& i, forward_outcome& made);
    void count_loss(const instruction& i, const loss_result& loss);
    struct gradient_sum; // stage_backward.cpp

    result<stage_work> whole(const instruction& i, std::shared_ptr<gradient_sum> sum,
                             std::function<void(pass_gradients)> take);
    result<stage_work> second_half(const instruction& i, std::shared_ptr<gradient_sum> sum,
                                   std::function<void(pass_gradients)> take);
    result<std::shared_ptr<backward_inputs>> take_inputs(const instruction& i);
    // Takes the gradients that have arrived to the device, and makes those of the inputs by `run`.
    template <class Run>
    static result<void> make_input_gradients(compute_context& context, backward_inputs& from,
                                             std::vector<tensor>& made, const Run& run);
    stage_work work_of(const instruction& i, const char* label, double flops_per_sample) const;
    void send_gradient(const instruction& i, const stashed& s, std::vector<tensor> of_inputs);
    // The backward pass is done.
    stashed let_go(const instruction& i, std::vector<tensor> sum,
                   const std::function<void(pass_gradients)>& take);

    stage_port& stage_;
    std::map<pass_id, stashed> stash_;
};

} // namespace troupe
