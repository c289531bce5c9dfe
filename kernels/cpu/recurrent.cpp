// The products of the input with its weights are one for all positions. A position then takes a product of its state with
// weight_hh and one loop over the gates.
#include <algorithm>

#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/cpu/floats.hpp"
#include "kernels/cpu/guarded.hpp"
#include "kernels/cpu/recurrent_pass.hpp"

namespace troupe {

using namespace cpu;

result<void> cpu_operations::compute(const gru_forward& op) {
    return guarded([&] {
        const multiplier multiply{pool_, bf16_loops_, product_loops_, op.products};
        const sequence_sizes n{op.input, op.output};
        const float_scratch state{pool_, n.states()}, product{pool_, 3 * n.states()};
        multiply_input(multiply, n, op.input, op.parameters.weight_ih, floats(op.gates));
        copy_or_zero(op.initial_state, state, n.states());
        for (std::size_t t = 0; t < n.positions; ++t) {
            multiply_state(multiply, n, op.parameters.weight_hh, state, product);
            recurrent_loops_.gru_forward({.samples = n.samples,
                                          .width = n.width,
                                          .bias_ih = floats(op.parameters.bias_ih),
                                          .bias_hh = floats(op.parameters.bias_hh),
                                          .product = product,
                                          .gates = at(n, floats(op.gates), t, 4 * n.width),
                                          .state = state,
                                          .output = at(n, floats(op.output), t, n.width)});
        }
        copy_if_wanted(state, n.states(), op.final_state);
    });
}

result<void> cpu_operations::compute(const gru_backward& op) {
    return guarded([&] {
        const multiplier multiply{pool_, bf16_loops_, product_loops_, op.products};
        const sequence_sizes n{op.input, op.output};
        gru_backward_pass pass{multiply,      recurrent_loops_,   n,
                               op.parameters, op.initial_state,   op.output,
                               op.gates,      op.output_gradient, op.final_state_gradient};
        for (std::size_t t = n.positions; t-- > 0;)
            pass.step(t);
        pass.finish(op.gradients);
        input_gradients(multiply, n, pass.to_gates, op.input, op.parameters.weight_ih,
                        op.gradients.weight_ih, op.gradients.input);
    });
}

result<void> cpu_operations::compute(const lstm_forward& op) {
    return guarded([&] {
        const multiplier multiply{pool_, bf16_loops_, product_loops_, op.products};
        const sequence_sizes n{op.input, op.output};
        const float_scratch state{pool_, n.states()}, cell{pool_, n.states()},
            product{pool_, 4 * n.states()};
        multiply_input(multiply, n, op.input, op.parameters.weight_ih, floats(op.gates));
        copy_or_zero(op.initial_state, state, n.states());
        copy_or_zero(op.initial_cell, cell, n.states());
        for (std::size_t t = 0; t < n.positions; ++t) {
            multiply_state(multiply, n, op.parameters.weight_hh, state, product);
            recurrent_loops_.lstm_forward({.samples = n.samples,
                                           .width = n.width,
                                           .bias_ih = floats(op.parameters.bias_ih),
                                           .bias_hh = floats(op.parameters.bias_hh),
                                           .product = product,
                                           .gates = at(n, floats(op.gates), t, 4 * n.width),
                                           .state = state,
                                           .cell = cell,
                                           .output = at(n, floats(op.output), t, n.width),
                                           .cells = at(n, floats(op.cells), t, n.width)});
        }
        copy_if_wanted(state, n.states(), op.final_state);
        copy_if_wanted(cell, n.states(), op.final_cell);
    });
}

result<void> cpu_operations::compute(const lstm_backward& op) {
    return guarded([&] {
        const multiplier multiply{pool_, bf16_loops_, product_loops_, op.products};
        const sequence_sizes n{op.input, op.output};
        const float_scratch previous{pool_, n.rows() * n.width},
            to_gates{pool_, 4 * n.rows() * n.width}, to_product{pool_, 4 * n.states()},
            to_state{pool_, n.states()}, to_cell{pool_, n.states()}, to_bias{pool_, 4 * n.width},
            zeros{pool_, n.width};
        const float* cells = floats(op.cells);
        copy_or_zero(op.final_state_gradient, to_state, n.states());
        copy_or_zero(op.final_cell_gradient, to_cell, n.states());
        to_bias.zero();
        zeros.zero();
        shift(n, cells, op.initial_cell, previous);
        for (std::size_t t = n.positions; t-- > 0;) {
            recurrent_loops_.lstm_backward(
                {.samples = n.samples,
                 .width = n.width,
                 .gates = at(n, floats(op.gates), t, 4 * n.width),
                 .cells = at(n, cells, t, n.width),
                 .previous_cells = at<const float>(n, previous, t, n.width),
                 .output_gradient = at_or_zero(n, op.output_gradient, t, zeros),
                 .to_state = to_state,
                 .to_cell = to_cell,
                 .to_gates = at<float>(n, to_gates, t, 4 * n.width),
                 .to_product = to_product,
                 .to_bias = to_bias});
            multiply_back(multiply, n, op.parameters.weight_hh, to_product, 0, to_state);
        }
        const auto& g = op.gradients;
        input_gradients(multiply, n, to_gates, op.input, op.parameters.weight_ih, g.weight_ih,
                        g.input);
        shift(n, floats(op.output), op.initial_state, previous);
        multiply_gates(multiply, n, to_gates, 0, 4 * n.width, previous, n.width,
                       floats(g.weight_hh), n.width);
        std::copy_n(+to_bias, 4 * n.width, floats(g.bias_ih));
        std::copy_n(+to_bias, 4 * n.width, floats(g.bias_hh));
        copy_if_wanted(to_state, n.states(), g.initial_state);
        copy_if_wanted(to_cell, n.states(), op.initial_cell_gradient);
    });
}

} // namespace troupe
