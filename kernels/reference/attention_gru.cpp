// The decoder, one position at a time by the operations that it is made of.
#include <algorithm>
#include <functional>

#include "kernels/reference/reference_operations.hpp"

namespace troupe {

namespace {

// The rows of one position of a sequence (samples, positions, width), and back.
void take(const tensor& sequence, std::size_t position, tensor& rows) {
    const std::size_t positions = sequence.shape()[1], width = sequence.shape()[2];
    for (std::size_t s = 0; s < sequence.shape()[0]; ++s)
        std::ranges::copy(
            sequence.values<float>().subspan((s * positions + position) * width, width),
            rows.mutable_values<float>().subspan(s * width, width).begin());
}

void put(const tensor& rows, tensor& sequence, std::size_t position) {
    const std::size_t positions = sequence.shape()[1], width = sequence.shape()[2];
    for (std::size_t s = 0; s < sequence.shape()[0]; ++s)
        std::ranges::copy(rows.values<float>().subspan(s * width, width),
                          sequence.mutable_values<float>()
                              .subspan((s * positions + position) * width, width)
                              .begin());
}

// Rows of `left` and `right` behind one another, and back.
void join(const tensor& left, const tensor& right, tensor& joined) {
    const std::size_t a = left.shape().dimensions().back(), b = right.shape().dimensions().back();
    for (std::size_t s = 0; s < left.shape()[0]; ++s) {
        const auto row = joined.mutable_values<float>().subspan(s * (a + b), a + b);
        std::ranges::copy(left.values<float>().subspan(s * a, a), row.begin());
        std::ranges::copy(right.values<float>().subspan(s * b, b), row.subspan(a).begin());
    }
}

void part(const tensor& joined, tensor& left, tensor& right) {
    const std::size_t a = left.shape().dimensions().back(), b = right.shape().dimensions().back();
    for (std::size_t s = 0; s < left.shape()[0]; ++s) {
        const auto row = joined.values<float>().subspan(s * (a + b), a + b);
        std::ranges::copy(row.first(a), left.mutable_values<float>().subspan(s * a, a).begin());
        std::ranges::copy(row.subspan(a), right.mutable_values<float>().subspan(s * b, b).begin());
    }
}

void add(const tensor& more, tensor& to) {
    std::ranges::transform(more.values<float>(), to.values<float>(),
                           to.mutable_values<float>().begin(), std::plus{});
}

tensor zeroed(memory_pool& pool, const tensor_shape& shape) {
    tensor t = tensor::allocate(pool, data_type::float32, shape).value();
    std::ranges::fill(t.mutable_values<float>(), 0.f);
    return t;
}

// The operands of one position of a decoder; rows are those of all samples.
struct position_operands {
    tensor input, context, joined, state, shares, gates, output;

    template <class Operation>
    position_operands(memory_pool& pool, const Operation& op) {
        const std::size_t samples = op.output.shape()[0], width = op.output.shape()[2];
        const std::size_t features = op.input.shape()[2], memory = op.contexts.shape()[2];
        input = zeroed(pool, {samples, features});
        context = zeroed(pool, {samples, memory});
        joined = zeroed(pool, {samples, 1, features + memory});
        state = zeroed(pool, {samples, width});
        shares = zeroed(pool, {samples, op.shares.shape()[2]});
        gates = zeroed(pool, {samples, 1, 4 * width});
        output = zeroed(pool, {samples, 1, width});
    }

    // The state before position t.
    template <class Operation>
    void take_state(const Operation& op, std::size_t t) {
        if (t > 0)
            take(op.output, t - 1, state);
        else if (op.initial_state != nullptr)
            std::ranges::copy(op.initial_state->template values<float>(),
                              state.mutable_values<float>().begin());
        else
            std::ranges::fill(state.mutable_values<float>(), 0.f);
    }
    void take_all(const attention_gru_backward& op, std::size_t t) {
        take_state(op, t);
        take(op.input, t, input);
        take(op.contexts, t, context);
        join(input, context, joined);
        take(op.shares, t, shares);
        take(op.gates, t, gates);
        take(op.output, t, output);
    }
};

// Gradients that are sums over positions, in the order of cell_gradients and attention_gradients.
struct position_sums {
    std::vector<tensor*> totals;
    std::vector<tensor> of_position;
    std::vector<std::vector<double>> sums;

    position_sums(memory_pool& pool, const recurrent_gradients& cell,
                  const additive_gradients& attention)
        : totals{&cell.weight_ih,         &cell.weight_hh,        &cell.bias_ih,
                 &cell.bias_hh,           &attention.memory,      &attention.projected,
                 &attention.query_weight, &attention.score_weight} {
        for (const tensor* total : totals) {
            of_position.push_back(zeroed(pool, total->shape()));
            sums.push_back(zeros(total->elements()));
        }
    }
    recurrent_gradients cell(tensor& input, tensor& state) {
        return {&input, of_position[0], of_position[1], of_position[2], of_position[3], &state};
    }
    additive_gradients attention() {
        return {of_position[4], of_position[5], of_position[6], of_position[7]};
    }
    void add() {
        for (std::size_t i = 0; i < sums.size(); ++i)
            std::ranges::transform(sums[i], of_position[i].values<float>(), sums[i].begin(),
                                   std::plus{});
    }
    void finish() {
        for (std::size_t i = 0; i < sums.size(); ++i)
            round_into(sums[i], *totals[i]);
    }
};

} // namespace

result<void> reference_operations::compute(const attention_gru_forward& op) {
    position_operands at{scratch_, op};
    for (std::size_t t = 0; t < op.output.shape()[1]; ++t) {
        at.take_state(op, t);
        if (auto done = run(additive_attention_forward{at.state, op.memory, op.attention,
                                                       at.context, at.shares, op.products});
            !done)
            return done;
        take(op.input, t, at.input);
        join(at.input, at.context, at.joined);
        if (auto done = run(gru_forward{.input = at.joined,
                                        .parameters = op.cell,
                                        .initial_state = &at.state,
                                        .output = at.output,
                                        .gates = at.gates,
                                        .products = op.products});
            !done)
            return done;
        put(at.context, op.contexts, t);
        put(at.shares, op.shares, t);
        put(at.gates, op.gates, t);
        put(at.output, op.output, t);
    }
    return {};
}

result<void> reference_operations::compute(const attention_gru_backward& op) {
    position_operands at{scratch_, op};
    position_operands to{scratch_, op}; // gradients of the same
    position_sums sums{scratch_, op.cell_gradients, op.attention_gradients};
    tensor to_context = zeroed(scratch_, at.context.shape()); // from outside of the decoder
    tensor by_attention = zeroed(scratch_, at.state.shape());
    for (std::size_t t = op.output.shape()[1]; t-- > 0;) {
        at.take_all(op, t);
        take(op.output_gradient, t, to.output);
        add(to.state, to.output);
        if (auto done =
                run(gru_backward{at.joined, op.cell, &at.state, at.output, at.gates, &to.output,
                                 sums.cell(to.joined, to.state), nullptr, op.products});
            !done)
            return done;
        part(to.joined, to.input, to.context);
        if (op.contexts_gradient != nullptr) {
            take(*op.contexts_gradient, t, to_context);
            add(to_context, to.context);
        }
        if (auto done = run(additive_attention_backward{at.state, op.memory, op.attention,
                                                        at.shares, to.context, by_attention,
                                                        sums.attention(), op.products});
            !done)
            return done;
        add(by_attention, to.state);
        sums.add();
        if (op.cell_gradients.input != nullptr)
            put(to.input, *op.cell_gradients.input, t);
    }
    sums.finish();
    if (op.cell_gradients.initial_state != nullptr)
        std::ranges::copy(to.state.values<float>(),
                          op.cell_gradients.initial_state->mutable_values<float>().begin());
    return {};
}

} // namespace troupe
