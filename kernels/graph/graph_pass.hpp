// A pass through a range of layers that can stop between two steps and go on: forward, or backward as a whole or in two
// halves. The first half gives the gradients of the inputs, the second, which may come much later, those of the parameters.
//
// A value, owned by whoever runs it; one thread at a time. Holds the values between the steps that are done and those
// that are not, and what the rest of the pass needs of earlier steps. Errors: those of the operations, with the layer's
// name.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/graph/graph_range.hpp"

namespace troupe {

class graph_pass {
  public:
    // `inputs`: one for each of the range's. The range outlives the pass.
    static graph_pass forward(const graph_range& range, std::vector<activation> inputs);
    // `saved`: of a forward pass of training; `output_gradients`: one for each output that is trained, in order.
    static graph_pass backward(const graph_range& range, std::vector<saved_layer> saved,
                               std::vector<activation> output_gradients, bool in_halves = false);

    // The steps that are left: a forward pass has done the others from the first on, a backward pass from the last on.
    std::size_t left() const noexcept { return left_; }
    // Runs the next steps until so many are left.
    result<void> run_until(compute_context& context, const graph_range::pass& p, std::size_t left);

    // The results of a pass without steps left.
    graph_range::outcome take_outcome(); // forward
    std::vector<activation>
    take_input_gradients(); // backward: of the inputs that are trained, in order

    // The gradients of the parameters, and statistics, of a backward pass. In halves this is the second half, and hands
    // gradients to p.after_gradients, the last layers' first.
    result<graph_range::weight_gradients> take_weight_gradients(compute_context& context,
                                                                const graph_range::pass& p);
    // The tensors that a first half keeps for the second.
    std::vector<tensor> kept() const;

  private:
    enum class kind : std::uint8_t { forward, backward, backward_in_halves };

    graph_pass(const graph_range& range, kind k);
    const graph_range::step& step(std::size_t number) const { return range_->steps()[number]; }
    result<void> step_forward(compute_context& context, const graph_range::pass& p, std::size_t k);
    result<void> step_backward(compute_context& context, const graph_range::pass& p, std::size_t k);
    result<void> second_half_of(compute_context& context, const graph_range::pass& p,
                                std::size_t k);
    result<void> hand_over(const graph_range::pass& p, std::size_t k) const;

    const graph_range* range_;
    kind kind_;
    std::vector<activation> slots_;
    std::vector<saved_layer>
        saved_; // by step; of a backward pass what its second half needs, once the step is done
    std::size_t left_;
    graph_range::weight_gradients made_;
};

} // namespace troupe
