#include <algorithm>

#include "kernels/cpu/additive_loops.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/cpu/floats.hpp"
#include "kernels/cpu/guarded.hpp"
#include "kernels/cpu/recurrent_pass.hpp"

namespace troupe {

using namespace cpu;

namespace {

additive_memory memory_of(const attended_memory& m, const additive_parameters& p) {
    const auto& shape = m.values.shape();
    return {.samples = shape[0],
            .source = shape[1],
            .width = shape[2],
            .attention_width = m.projected.shape()[2],
            .values = floats(m.values),
            .projected = floats(m.projected),
            .lengths = m.lengths != nullptr ? m.lengths->values<std::int32_t>().data() : nullptr,
            .score_weight = floats(p.score_weight)};
}

// queries = states * query_weight transposed
void multiply_query(const multiplier& multiply, const matrix& states, std::size_t rows,
                    const tensor& query_weight, float* queries) {
    const std::size_t width = query_weight.shape()[0], state_width = query_weight.shape()[1];
    multiply({.m = rows,
              .n = width,
              .k = state_width,
              .a = states,
              .b = {floats(query_weight), state_width, true},
              .c = queries,
              .c_stride = width});
}

// to_states = beta * to_states + to_queries * query_weight
void multiply_query_back(const multiplier& multiply, const matrix& to_queries, std::size_t rows,
                         const tensor& query_weight, float beta, float* to_states) {
    const std::size_t width = query_weight.shape()[0], state_width = query_weight.shape()[1];
    multiply({.m = rows,
              .n = state_width,
              .k = width,
              .a = to_queries,
              .b = {floats(query_weight), state_width},
              .beta = beta,
              .c = to_states,
              .c_stride = state_width});
}

// The gradients of query_weight from those of the queries of `rows` states, and of the memory from those of `positions`
// contexts of every sample, which the shares made in float32.
void finish_attention(const multiplier& multiply, const additive_memory& m, std::size_t rows,
                      std::size_t positions, const float* to_queries, const float* states,
                      const float* shares, const float* to_contexts,
                      const additive_gradients& gradients) {
    const std::size_t state_width = gradients.query_weight.shape()[1];
    multiply({.m = m.attention_width,
              .n = state_width,
              .k = rows,
              .a = {to_queries, m.attention_width, true},
              .b = {states, state_width},
              .c = floats(gradients.query_weight),
              .c_stride = state_width});
    const multiplier multiply_floats{multiply.pool, multiply.loops, multiply.float_loops,
                                     precision::float32};
    for (std::size_t s = 0; s < m.samples; ++s)
        multiply_floats({.m = m.source,
                         .n = m.width,
                         .k = positions,
                         .a = {shares + s * positions * m.source, m.source, true},
                         .b = {to_contexts + s * positions * m.width, m.width},
                         .c = floats(gradients.memory) + s * m.source * m.width,
                         .c_stride = m.width});
}

void begin_gradients(const additive_gradients& gradients) {
    std::ranges::fill(gradients.projected.mutable_values<float>(), 0.f);
    std::ranges::fill(gradients.score_weight.mutable_values<float>(), 0.f);
}

} // namespace

result<void> cpu_operations::compute(const additive_attention_forward& op) {
    return guarded([&] {
        const multiplier multiply{pool_, bf16_loops_, product_loops_, op.products};
        const auto memory = memory_of(op.memory, op.parameters);
        const float_scratch query{pool_, memory.samples * memory.attention_width},
            scratch{pool_, memory.attention_width};
        multiply_query(multiply, {floats(op.state), op.state.shape()[1]}, memory.samples,
                       op.parameters.query_weight, query);
        additive_loops_.forward(memory, {.query = {query, memory.attention_width},
                                         .shares = {floats(op.shares), memory.source},
                                         .context = {floats(op.context), memory.width},
                                         .scratch = scratch});
    });
}

result<void> cpu_operations::compute(const additive_attention_backward& op) {
    return guarded([&] {
        const multiplier multiply{pool_, bf16_loops_, product_loops_, op.products};
        const auto memory = memory_of(op.memory, op.parameters);
        const std::size_t width = memory.attention_width;
        const float_scratch query{pool_, memory.samples * width},
            to_query{pool_, memory.samples * width}, scratch{pool_, memory.source};
        multiply_query(multiply, {floats(op.state), op.state.shape()[1]}, memory.samples,
                       op.parameters.query_weight, query);
        begin_gradients(op.gradients);
        additive_loops_.backward(memory, {.query = {query, width},
                                          .shares = {floats(op.shares), memory.source},
                                          .to_context = {floats(op.context_gradient), memory.width},
                                          .to_query = {to_query, width},
                                          .to_projected = floats(op.gradients.projected),
                                          .to_score_weight = floats(op.gradients.score_weight),
                                          .scratch = scratch});
        multiply_query_back(multiply, {to_query, width}, memory.samples, op.parameters.query_weight,
                            0, floats(op.state_gradient));
        finish_attention(multiply, memory, memory.samples, 1, to_query, floats(op.state),
                         floats(op.shares), floats(op.context_gradient), op.gradients);
    });
}

result<void> cpu_operations::compute(const attention_gru_forward& op) {
    return guarded([&] {
        const multiplier multiply{pool_, bf16_loops_, product_loops_, op.products};
        const sequence_sizes n{op.input, op.output};
        const auto memory = memory_of(op.memory, op.attention);
        const std::size_t columns = n.features + memory.width; // of weight_ih
        const float_scratch state{pool_, n.states()}, product{pool_, 3 * n.states()},
            query{pool_, n.samples * memory.attention_width},
            scratch{pool_, memory.attention_width};
        multiply_input(multiply, n, op.input, op.cell.weight_ih, floats(op.gates));
        copy_or_zero(op.initial_state, state, n.states());
        for (std::size_t t = 0; t < n.positions; ++t) {
            const auto context = at(n, floats(op.contexts), t, memory.width);
            const auto gates = at(n, floats(op.gates), t, 4 * n.width);
            multiply_query(multiply, {state, n.width}, n.samples, op.attention.query_weight, query);
            additive_loops_.forward(memory, {.query = {query, memory.attention_width},
                                             .shares = at(n, floats(op.shares), t, memory.source),
                                             .context = context,
                                             .scratch = scratch});
            multiply({.m = n.samples,
                      .n = 3 * n.width,
                      .k = memory.width,
                      .a = {context.first, context.stride},
                      .b = {floats(op.cell.weight_ih) + n.features, columns, true},
                      .beta = 1,
                      .c = gates.first,
                      .c_stride = gates.stride});
            multiply_state(multiply, n, op.cell.weight_hh, state, product);
            recurrent_loops_.gru_forward({.samples = n.samples,
                                          .width = n.width,
                                          .bias_ih = floats(op.cell.bias_ih),
                                          .bias_hh = floats(op.cell.bias_hh),
                                          .product = product,
                                          .gates = gates,
                                          .state = state,
                                          .output = at(n, floats(op.output), t, n.width)});
        }
    });
}

result<void> cpu_operations::compute(const attention_gru_backward& op) {
    return guarded([&] {
        const multiplier multiply{pool_, bf16_loops_, product_loops_, op.products};
        const sequence_sizes n{op.input, op.output};
        const auto memory = memory_of(op.memory, op.attention);
        const std::size_t width = memory.attention_width;
        const std::size_t columns = n.features + memory.width; // of weight_ih
        gru_backward_pass pass{multiply, recurrent_loops_,    n,
                               op.cell,  op.initial_state,    op.output,
                               op.gates, &op.output_gradient, nullptr};
        const float_scratch queries{pool_, n.rows() * width}, to_queries{pool_, n.rows() * width},
            to_contexts{pool_, n.rows() * memory.width}, scratch{pool_, memory.source};
        copy_or_zero(op.contexts_gradient, to_contexts, n.rows() * memory.width);
        multiply_query(multiply, {pass.previous, n.width}, n.rows(), op.attention.query_weight,
                       queries);
        begin_gradients(op.attention_gradients);
        for (std::size_t t = n.positions; t-- > 0;) {
            pass.step(t);
            const auto to_context = at<float>(n, to_contexts, t, memory.width);
            multiply({.m = n.samples,
                      .n = memory.width,
                      .k = 3 * n.width,
                      .a = {pass.to_gates + t * 4 * n.width, n.positions * 4 * n.width},
                      .b = {floats(op.cell.weight_ih) + n.features, columns},
                      .beta = 1,
                      .c = to_context.first,
                      .c_stride = to_context.stride});
            const auto to_query = at<float>(n, to_queries, t, width);
            additive_loops_.backward(
                memory, {.query = at<const float>(n, queries, t, width),
                         .shares = at(n, floats(op.shares), t, memory.source),
                         .to_context = {to_context.first, to_context.stride},
                         .to_query = to_query,
                         .to_projected = floats(op.attention_gradients.projected),
                         .to_score_weight = floats(op.attention_gradients.score_weight),
                         .scratch = scratch});
            multiply_query_back(multiply, {to_query.first, to_query.stride}, n.samples,
                                op.attention.query_weight, 1, pass.to_state);
        }
        pass.finish(op.cell_gradients);
        input_gradients(multiply, n, pass.to_gates, op.input, op.cell.weight_ih,
                        op.cell_gradients.weight_ih, op.cell_gradients.input);
        multiply_gates(multiply, n, pass.to_gates, 0, 3 * n.width, floats(op.contexts),
                       memory.width, floats(op.cell_gradients.weight_ih) + n.features, columns);
        finish_attention(multiply, memory, n.rows(), n.positions, to_queries, pass.previous,
                         floats(op.shares), to_contexts, op.attention_gradients);
    });
}

} // namespace troupe
