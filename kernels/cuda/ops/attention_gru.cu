// The GRU's products and steps as gru.cu has them, with the attention of the state in front of every step.
#include "kernels/cuda/additive_pass.hpp"
#include "kernels/cuda/columns.hpp"
#include "kernels/cuda/cuda_operations.hpp"

namespace troupe {

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> cuda_operations::start(const attention_gru_forward& op) {
    const cuda::sequence_sizes n{op.input, op.output};
    const cuda::additive_memory m{op.memory, op.attention};
    const cuda::cell_products multiply{run_, n, op.cell, op.products};
    const cuda::query_products multiply_query{run_, op.attention.query_weight, op.products};
    if (auto done = cuda::look_at_lengths(run_, m); !done)
        return done;
    auto made = cuda::make_scratch(
        run_, {n.states(), 3 * n.states(), m.queries(), m.scores(), m.samples * m.width});
    if (!made)
        return made.failure();
    const auto [state, product, query, scores, context] = made->at;
    if (auto done = multiply.of_input(op.input, cuda::floats(op.gates)); !done)
        return done;
    if (auto done = cuda::copy_or_zero(run_, op.initial_state, state, n.states()); !done)
        return done;
    for (std::size_t t = 0; t < n.positions; ++t) {
        if (auto done = multiply_query.of_states(state, n.samples, query); !done)
            return done;
        if (auto done = cuda::step(
                run_, m,
                cuda::additive_forward_step{.query = {query, m.attention_width},
                                            .shares = at(n, cuda::floats(op.shares), t, m.source),
                                            .context = at(n, cuda::floats(op.contexts), t, m.width),
                                            .context_together = context,
                                            .scores = scores});
            !done)
            return done;
        const auto gates = at(n, cuda::floats(op.gates), t, 4 * n.width);
        if (auto done = multiply.add_columns(n.features, m.width, context, gates); !done)
            return done;
        if (auto done = multiply.of_state(state, product); !done)
            return done;
        if (auto done =
                cuda::step(run_, n,
                           cuda::gru_step{.bias_ih = cuda::floats(op.cell.bias_ih),
                                          .bias_hh = cuda::floats(op.cell.bias_hh),
                                          .product = product,
                                          .gates = gates,
                                          .state = state,
                                          .output = at(n, cuda::floats(op.output), t, n.width)});
            !done)
            return done;
    }
    return {};
}

result<void> cuda_operations::start(const attention_gru_backward& op) {
    const cuda::sequence_sizes n{op.input, op.output};
    const cuda::additive_memory m{op.memory, op.attention};
    const cuda::query_products multiply_query{run_, op.attention.query_weight, op.products};
    const auto& of_attention = op.attention_gradients;
    if (auto done = cuda::look_at_lengths(run_, m); !done)
        return done;
    cuda::gru_backward_pass pass{run_,
                                 n,
                                 {.parameters = op.cell,
                                  .initial_state = op.initial_state,
                                  .output = op.output,
                                  .gates = op.gates,
                                  .output_gradient = &op.output_gradient,
                                  .final_state_gradient = nullptr},
                                 op.products};
    if (auto done = pass.begin(); !done)
        return done;
    const std::size_t width = m.attention_width;
    auto made = cuda::make_scratch(run_, {n.rows() * width, n.rows() * width, n.rows() * m.width,
                                          m.queries(), m.queries(), m.scores()});
    if (!made)
        return made.failure();
    const auto [queries, to_queries, to_contexts, to_query, to_score_weight, to_shares] = made->at;
    if (auto done = cuda::copy_or_zero(run_, op.contexts_gradient, to_contexts, n.rows() * m.width);
        !done)
        return done;
    if (auto done = multiply_query.of_states(pass.previous(), n.rows(), queries); !done)
        return done;
    if (auto done = cuda::set_zero(run_, cuda::floats(of_attention.projected),
                                   of_attention.projected.elements());
        !done)
        return done;
    if (auto done = cuda::set_zero(run_, to_score_weight, m.queries()); !done)
        return done;
    for (std::size_t t = n.positions; t-- > 0;) {
        if (auto done = pass.step(t); !done)
            return done;
        const auto to_context = at(n, to_contexts, t, m.width);
        if (auto done =
                pass.multiply.add_columns_back(n.features, m.width, pass.to_sums(), to_context);
            !done)
            return done;
        if (auto done = cuda::step(
                run_, m,
                cuda::additive_backward_step{.query = at<const float>(n, queries, t, width),
                                             .shares = at(n, cuda::floats(op.shares), t, m.source),
                                             .to_context = {to_context.first, to_context.stride},
                                             .to_query = at(n, to_queries, t, width),
                                             .to_query_together = to_query,
                                             .to_projected = cuda::floats(of_attention.projected),
                                             .to_score_weight = to_score_weight,
                                             .to_shares = to_shares});
            !done)
            return done;
        if (auto done = multiply_query.back(to_query, n.samples, 1, pass.to_state()); !done)
            return done;
    }
    if (auto done = pass.finish(op.cell_gradients); !done)
        return done;
    if (auto done = pass.multiply.input_gradients(pass.to_gates(), op.input, op.cell_gradients);
        !done)
        return done;
    if (auto done = pass.multiply.of_gates(
            pass.to_gates(), 0, 3 * n.width, cuda::floats(op.contexts), m.width,
            cuda::floats(op.cell_gradients.weight_ih) + n.features, pass.multiply.input_columns());
        !done)
        return done;
    if (auto done = multiply_query.weight_gradient(to_queries, pass.previous(), n.rows(),
                                                   of_attention.query_weight);
        !done)
        return done;
    if (auto done = cuda::sum_rows(
            {to_score_weight, m.samples, width, cuda::floats(of_attention.score_weight)}, run_);
        !done)
        return done;
    return cuda::memory_gradient(run_, m, n.positions, cuda::floats(op.shares), to_contexts,
                                 of_attention.memory);
}

} // namespace troupe
