#include "kernels/ops/additive_attention.hpp"

#include "kernels/ops/operand_check.hpp"
#include "kernels/ops/recurrent_check.hpp"

namespace troupe {

namespace {

// The sizes that the operands of an attention have in common.
struct attention_sizes {
    std::size_t samples = 0, source = 0, memory = 0, attention = 0;
};

attention_sizes check_memory(operand_check& check, const attended_memory& m,
                             const additive_parameters& p, std::size_t state_width) {
    check.rank("memory", m.values, 3).rank("projected memory", m.projected, 3);
    if (!check.ok())
        return {};
    const auto& shape = m.values.shape();
    const attention_sizes sizes{shape[0], shape[1], shape[2], m.projected.shape()[2]};
    check.is("memory", m.values, shape)
        .is("projected memory", m.projected, {sizes.samples, sizes.source, sizes.attention})
        .is("query_weight", p.query_weight, {sizes.attention, state_width})
        .is("score_weight", p.score_weight, {sizes.attention})
        .require(m.values.elements() > 0 && m.projected.elements() > 0,
                 "an operand has no elements");
    if (m.lengths != nullptr)
        check.is("lengths", *m.lengths, {sizes.samples}, data_type::int32);
    return sizes;
}

void check_gradients(operand_check& check, const additive_gradients& g, const attended_memory& m,
                     const additive_parameters& p) {
    check.is("the gradient of memory", g.memory, m.values.shape())
        .is("the gradient of projected memory", g.projected, m.projected.shape())
        .is("the gradient of query_weight", g.query_weight, p.query_weight.shape())
        .is("the gradient of score_weight", g.score_weight, p.score_weight.shape());
}

result<void> outcome(const operand_check& check, const attended_memory& m) {
    if (!check.ok() || m.lengths == nullptr || !m.lengths->is_host()) // its back end looks at them
        return check.outcome();
    const auto lengths = m.lengths->values<std::int32_t>();
    const std::size_t source = m.values.shape()[1];
    for (std::size_t s = 0; s < lengths.size(); ++s)
        if (lengths[s] < 1 || static_cast<std::size_t>(lengths[s]) > source)
            return bad_memory_length(s, lengths[s], source);
    return {};
}

// Checks that both passes of the decoder have in common.
template <class Operation>
void check_decoder(operand_check& check, const Operation& op) {
    check.rank("input", op.input, 3).rank("weight_hh", op.cell.weight_hh, 2);
    if (!check.ok())
        return;
    const auto& in = op.input.shape();
    const std::size_t width = op.cell.weight_hh.shape()[1];
    const auto sizes = check_memory(check, op.memory, op.attention, width);
    if (!check.ok())
        return;
    check.is("input", op.input, {sizes.samples, in[1], in[2]})
        .is("weight_ih", op.cell.weight_ih, {3 * width, in[2] + sizes.memory})
        .is("weight_hh", op.cell.weight_hh, {3 * width, width})
        .is("bias_ih", op.cell.bias_ih, {3 * width})
        .is("bias_hh", op.cell.bias_hh, {3 * width})
        .is("output", op.output, {in[0], in[1], width})
        .is("contexts", op.contexts, {in[0], in[1], sizes.memory})
        .is("shares", op.shares, {in[0], in[1], sizes.source})
        .is("gates", op.gates, {in[0], in[1], 4 * width})
        .require(in.elements() > 0 && width > 0, "an operand has no elements");
    if (op.initial_state != nullptr)
        check.is("initial_state", *op.initial_state, {in[0], width});
}

} // namespace

error bad_memory_length(std::size_t sample, std::int32_t length, std::size_t source) {
    return {errc::data, "the length of sample " + std::to_string(sample) + " of the batch is " +
                            std::to_string(length) + ", but its memory has " +
                            std::to_string(source) + " positions; lengths begin with 1"};
}

result<void> additive_attention_forward::check() const {
    operand_check check{"additive_attention_forward"};
    check.rank("state", state, 2);
    if (!check.ok())
        return check.outcome();
    const auto sizes = check_memory(check, memory, parameters, state.shape()[1]);
    if (check.ok())
        check.is("state", state, {sizes.samples, state.shape()[1]})
            .is("context", context, {sizes.samples, sizes.memory})
            .is("shares", shares, {sizes.samples, sizes.source});
    return outcome(check, memory);
}

result<void> additive_attention_backward::check() const {
    operand_check check{"additive_attention_backward"};
    check.rank("state", state, 2);
    if (!check.ok())
        return check.outcome();
    const auto sizes = check_memory(check, memory, parameters, state.shape()[1]);
    if (check.ok())
        check.is("state", state, {sizes.samples, state.shape()[1]})
            .is("shares", shares, {sizes.samples, sizes.source})
            .is("context_gradient", context_gradient, {sizes.samples, sizes.memory})
            .is("state_gradient", state_gradient, state.shape());
    if (check.ok())
        check_gradients(check, gradients, memory, parameters);
    return outcome(check, memory);
}

result<void> attention_gru_forward::check() const {
    operand_check check{"attention_gru_forward"};
    check_decoder(check, *this);
    return outcome(check, memory);
}

result<void> attention_gru_backward::check() const {
    operand_check check{"attention_gru_backward"};
    check_decoder(check, *this);
    if (!check.ok())
        return check.outcome();
    check.is("output_gradient", output_gradient, output.shape());
    if (contexts_gradient != nullptr)
        check.is("contexts_gradient", *contexts_gradient, contexts.shape());
    check_recurrent_gradients(check, cell_gradients, input, cell);
    check_gradients(check, attention_gradients, memory, attention);
    return outcome(check, memory);
}

} // namespace troupe
