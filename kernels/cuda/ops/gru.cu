// One product for all inputs with their weights. A position then takes a product of its state and a kernel of the gates.
#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/recurrent_pass.hpp"

namespace troupe {

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> cuda_operations::start(const gru_forward& op) {
    const cuda::sequence_sizes n{op.input, op.output};
    const cuda::cell_products multiply{run_, n, op.parameters, op.products};
    auto made = cuda::make_scratch(run_, {n.states(), 3 * n.states()});
    if (!made)
        return made.failure();
    const auto [state, product] = made->at;
    if (auto done = multiply.of_input(op.input, cuda::floats(op.gates)); !done)
        return done;
    if (auto done = cuda::copy_or_zero(run_, op.initial_state, state, n.states()); !done)
        return done;
    for (std::size_t t = 0; t < n.positions; ++t) {
        if (auto done = multiply.of_state(state, product); !done)
            return done;
        if (auto done = cuda::step(run_, n,
                                   {.bias_ih = cuda::floats(op.parameters.bias_ih),
                                    .bias_hh = cuda::floats(op.parameters.bias_hh),
                                    .product = product,
                                    .gates = at(n, cuda::floats(op.gates), t, 4 * n.width),
                                    .state = state,
                                    .output = at(n, cuda::floats(op.output), t, n.width)});
            !done)
            return done;
    }
    return cuda::copy_if_wanted(run_, state, n.states(), op.final_state);
}

result<void> cuda_operations::start(const gru_backward& op) {
    const cuda::sequence_sizes n{op.input, op.output};
    cuda::gru_backward_pass pass{run_,
                                 n,
                                 {.parameters = op.parameters,
                                  .initial_state = op.initial_state,
                                  .output = op.output,
                                  .gates = op.gates,
                                  .output_gradient = op.output_gradient,
                                  .final_state_gradient = op.final_state_gradient},
                                 op.products};
    if (auto done = pass.begin(); !done)
        return done;
    for (std::size_t t = n.positions; t-- > 0;)
        if (auto done = pass.step(t); !done)
            return done;
    if (auto done = pass.finish(op.gradients); !done)
        return done;
    return pass.multiply.input_gradients(pass.to_gates(), op.input, op.gradients);
}

} // namespace troupe
