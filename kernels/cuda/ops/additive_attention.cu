#include "kernels/cuda/additive_pass.hpp"
#include "kernels/cuda/columns.hpp"
#include "kernels/cuda/cuda_operations.hpp"

namespace troupe {

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> cuda_operations::start(const additive_attention_forward& op) {
    const cuda::additive_memory m{op.memory, op.parameters};
    const cuda::query_products multiply{run_, op.parameters.query_weight, op.products};
    if (auto done = cuda::look_at_lengths(run_, m); !done)
        return done;
    auto made = cuda::make_scratch(run_, {m.queries(), m.scores()});
    if (!made)
        return made.failure();
    const auto [query, scores] = made->at;
    if (auto done = multiply.of_states(cuda::floats(op.state), m.samples, query); !done)
        return done;
    return cuda::step(run_, m,
                      cuda::additive_forward_step{.query = {query, m.attention_width},
                                                  .shares = {cuda::floats(op.shares), m.source},
                                                  .context = {cuda::floats(op.context), m.width},
                                                  .context_together = nullptr,
                                                  .scores = scores});
}

result<void> cuda_operations::start(const additive_attention_backward& op) {
    const cuda::additive_memory m{op.memory, op.parameters};
    const cuda::query_products multiply{run_, op.parameters.query_weight, op.products};
    const auto& g = op.gradients;
    if (auto done = cuda::look_at_lengths(run_, m); !done)
        return done;
    auto made = cuda::make_scratch(run_, {m.queries(), m.queries(), m.queries(), m.scores()});
    if (!made)
        return made.failure();
    const auto [query, to_query, to_score_weight, to_shares] = made->at;
    const float* const state = cuda::floats(op.state);
    if (auto done = multiply.of_states(state, m.samples, query); !done)
        return done;
    if (auto done = cuda::set_zero(run_, cuda::floats(g.projected), g.projected.elements()); !done)
        return done;
    if (auto done = cuda::set_zero(run_, to_score_weight, m.queries()); !done)
        return done;
    const float* const to_context = cuda::floats(op.context_gradient);
    if (auto done =
            cuda::step(run_, m,
                       cuda::additive_backward_step{.query = {query, m.attention_width},
                                                    .shares = {cuda::floats(op.shares), m.source},
                                                    .to_context = {to_context, m.width},
                                                    .to_query = {to_query, m.attention_width},
                                                    .to_query_together = nullptr,
                                                    .to_projected = cuda::floats(g.projected),
                                                    .to_score_weight = to_score_weight,
                                                    .to_shares = to_shares});
        !done)
        return done;
    if (auto done = multiply.back(to_query, m.samples, 0, cuda::floats(op.state_gradient)); !done)
        return done;
    if (auto done = multiply.weight_gradient(to_query, state, m.samples, g.query_weight); !done)
        return done;
    if (auto done = cuda::sum_rows(
            {to_score_weight, m.samples, m.attention_width, cuda::floats(g.score_weight)}, run_);
        !done)
        return done;
    return cuda::memory_gradient(run_, m, 1, cuda::floats(op.shares), to_context, g.memory);
}

} // namespace troupe
