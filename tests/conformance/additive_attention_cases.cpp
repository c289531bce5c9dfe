#include <algorithm>

#include "tests/conformance/case_tools.hpp"

namespace troupe::test {

namespace {

struct memory_row {
    std::size_t samples, source, width, attention;
    bool lengths; // of the samples; otherwise the whole source of all
    precision products = precision::float32;
};

std::string memory_name(const memory_row& row) {
    return ", memory " + by({row.source, row.width}) + ", attention " +
           std::to_string(row.attention) + (row.lengths ? ", lengths" : "");
}

// None, or one per sample.
std::vector<tensor> lengths_of(compute_context& context, const memory_row& row) {
    if (!row.lengths)
        return {};
    tensor lengths = poisoned(context, {row.samples}, data_type::int32);
    for (std::size_t s = 0; s < row.samples; ++s)
        lengths.mutable_values<std::int32_t>()[s] =
            static_cast<std::int32_t>(row.source - s * 3 % row.source);
    return {lengths};
}

struct operands {
    std::vector<tensor> in, constants;
    std::vector<tensor> out, to; // results, and one gradient per input

    operands(compute_context& context, const operation_case& row, const std::vector<tensor>& inputs,
             std::initializer_list<tensor_shape> outputs)
        : in{inputs}, constants{row.constants(context)} {
        for (const auto& shape : outputs)
            out.push_back(poisoned(context, shape));
        for (const auto& shape : row.input_shapes())
            to.push_back(poisoned(context, shape));
    }
    const tensor* lengths() const { return constants.empty() ? nullptr : &constants[0]; }
};

struct additive_attention_case final : operation_case {
    memory_row row;
    std::size_t state_width;

    additive_attention_case(const memory_row& row, std::size_t state_width)
        : row{row}, state_width{state_width} {}

    std::string name() const override {
        return "additive_attention " + by({row.samples, state_width}) + memory_name(row) +
               suffix_of(row.products);
    }
    std::vector<tensor_shape> input_shapes() const override {
        return {{row.samples, state_width},
                {row.samples, row.source, row.width},
                {row.samples, row.source, row.attention},
                {row.attention, state_width},
                {row.attention}};
    }
    tensor_shape output_shape() const override { return {row.samples, row.width}; }
    std::vector<tensor> constants(compute_context& context) const override {
        return lengths_of(context, row);
    }
    // A tangent counts as some twenty.
    double forward_flops() const override {
        return 2 * count({row.samples, state_width, row.attention}) +
               22 * count({row.samples, row.source, row.attention}) +
               2 * count({row.samples, row.source, row.width});
    }
    bool is_rounded() const override { return rounds(row.products); }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        auto s = std::make_shared<operands>(
            context, *this, inputs,
            std::initializer_list<tensor_shape>{output_shape(), {row.samples, row.source}});
        auto& ops = context.ops;
        return {[=, this, &ops] {
                    return ops.run(
                        additive_attention_forward{.state = s->in[0],
                                                   .memory = {s->in[1], s->in[2], s->lengths()},
                                                   .parameters = {s->in[3], s->in[4]},
                                                   .context = s->out[0],
                                                   .shares = s->out[1],
                                                   .products = row.products});
                },
                [=, this, &ops] {
                    return ops.run(additive_attention_backward{
                        .state = s->in[0],
                        .memory = {s->in[1], s->in[2], s->lengths()},
                        .parameters = {s->in[3], s->in[4]},
                        .shares = s->out[1],
                        .context_gradient = output_gradient,
                        .state_gradient = s->to[0],
                        .gradients = {s->to[1], s->to[2], s->to[3], s->to[4]},
                        .products = row.products});
                },
                [=] { return s->out; }, [=] { return s->to; }};
    }
};

struct decoder_row {
    memory_row memory;
    std::size_t positions, features, width;
    bool initial;  // a state is given
    bool contexts; // the contexts are outputs, too
};

struct attention_gru_case final : operation_case {
    decoder_row row;

    explicit attention_gru_case(const decoder_row& row) : row{row} {}

    tensor_shape sequence(std::size_t width) const {
        return {row.memory.samples, row.positions, width};
    }
    std::string name() const override {
        return "attention_gru " + by(sequence(row.features)) + " to " + std::to_string(row.width) +
               memory_name(row.memory) + (row.initial ? ", initial state" : "") +
               (row.contexts ? ", contexts" : "") + suffix_of(row.memory.products);
    }
    // The initial state, where there is one, is last.
    std::vector<tensor_shape> input_shapes() const override {
        const auto& m = row.memory;
        std::vector<tensor_shape> shapes{sequence(row.features),
                                         {3 * row.width, row.features + m.width},
                                         {3 * row.width, row.width},
                                         {3 * row.width},
                                         {3 * row.width},
                                         {m.samples, m.source, m.width},
                                         {m.samples, m.source, m.attention},
                                         {m.attention, row.width},
                                         {m.attention}};
        if (row.initial)
            shapes.push_back({m.samples, row.width});
        return shapes;
    }
    // The states, and behind them, where they are outputs, the contexts.
    tensor_shape output_shape() const override {
        return sequence(row.width + (row.contexts ? row.memory.width : 0));
    }
    std::vector<tensor> constants(compute_context& context) const override {
        return lengths_of(context, row.memory);
    }
    double forward_flops() const override {
        const auto& m = row.memory;
        return count(sequence(1)) *
               (2.0 * static_cast<double>(3 * row.width * (row.features + m.width + row.width) +
                                          row.width * m.attention + m.source * m.width) +
                22.0 * static_cast<double>(m.source * m.attention));
    }
    bool is_rounded() const override { return rounds(row.memory.products); }
    float tolerance() const override { return tolerance_of_steps(row.memory.products); }

    // Columns first.. of `from`.
    static tensor columns(compute_context& context, const tensor& from, std::size_t first,
                          std::size_t width) {
        const auto& shape = from.shape();
        tensor to = poisoned(context, {shape[0], shape[1], width});
        for (std::size_t r = 0; r < shape[0] * shape[1]; ++r)
            std::copy_n(
                from.values<float>().begin() + static_cast<std::ptrdiff_t>(r * shape[2] + first),
                width, to.mutable_values<float>().begin() + static_cast<std::ptrdiff_t>(r * width));
        return to;
    }
    tensor joined(compute_context& context, const tensor& states, const tensor& contexts) const {
        if (!row.contexts)
            return states;
        tensor to = poisoned(context, output_shape());
        const std::size_t a = row.width, b = row.memory.width;
        for (std::size_t r = 0; r < row.memory.samples * row.positions; ++r) {
            const auto out = to.mutable_values<float>().subspan(r * (a + b), a + b);
            std::ranges::copy(states.values<float>().subspan(r * a, a), out.begin());
            std::ranges::copy(contexts.values<float>().subspan(r * b, b), out.subspan(a).begin());
        }
        return to;
    }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        auto s =
            std::make_shared<operands>(context, *this, inputs,
                                       std::initializer_list<tensor_shape>{
                                           sequence(row.width), sequence(row.memory.width),
                                           sequence(row.memory.source), sequence(4 * row.width)});
        const tensor to_states = columns(context, output_gradient, 0, row.width);
        const tensor to_contexts =
            row.contexts ? columns(context, output_gradient, row.width, row.memory.width)
                         : tensor{};
        return {[=, this, &context] { return forward(context.ops, *s); },
                [=, this, &context] {
                    return backward(context.ops, *s, to_states,
                                    row.contexts ? &to_contexts : nullptr);
                },
                [=, this, &context] {
                    return std::vector{joined(context, s->out[0], s->out[1]), s->out[1], s->out[2],
                                       s->out[3]};
                },
                [=] { return s->to; }};
    }

    result<void> forward(operations& ops, operands& s) const {
        return ops.run(attention_gru_forward{.input = s.in[0],
                                             .cell = {s.in[1], s.in[2], s.in[3], s.in[4]},
                                             .initial_state = s.in.size() > 9 ? &s.in[9] : nullptr,
                                             .memory = {s.in[5], s.in[6], s.lengths()},
                                             .attention = {s.in[7], s.in[8]},
                                             .output = s.out[0],
                                             .contexts = s.out[1],
                                             .shares = s.out[2],
                                             .gates = s.out[3],
                                             .products = row.memory.products});
    }
    result<void> backward(operations& ops, operands& s, const tensor& to_states,
                          const tensor* to_contexts) const {
        return ops.run(
            attention_gru_backward{.input = s.in[0],
                                   .cell = {s.in[1], s.in[2], s.in[3], s.in[4]},
                                   .initial_state = s.in.size() > 9 ? &s.in[9] : nullptr,
                                   .memory = {s.in[5], s.in[6], s.lengths()},
                                   .attention = {s.in[7], s.in[8]},
                                   .output = s.out[0],
                                   .contexts = s.out[1],
                                   .shares = s.out[2],
                                   .gates = s.out[3],
                                   .output_gradient = to_states,
                                   .contexts_gradient = to_contexts,
                                   .cell_gradients = {&s.to[0], s.to[1], s.to[2], s.to[3], s.to[4],
                                                      s.to.size() > 9 ? &s.to[9] : nullptr},
                                   .attention_gradients = {s.to[5], s.to[6], s.to[7], s.to[8]},
                                   .products = row.memory.products});
    }
};

} // namespace

void add_additive_attention_cases(cases& to) {
    add<additive_attention_case>(to, memory_row{1, 1, 1, 1, false}, 1u);
    add<additive_attention_case>(to, memory_row{3, 5, 7, 18, true}, 6u);
    add<additive_attention_case>(to, memory_row{2, 20, 33, 5, false}, 4u);
    for (const precision products : {precision::bfloat16, precision::float16})
        add<additive_attention_case>(to, memory_row{3, 5, 7, 18, true, products}, 6u);
    add<additive_attention_case>(to, memory_row{3, 130, 135, 133, true},
                                 4u); // several tiles of all
    // Rows of gradients that are 2 KB apart.
    add<attention_gru_case>(to, decoder_row{{2, 512, 9, 4, true}, 32, 3, 10, true, true});
    add<attention_gru_case>(to, decoder_row{{20, 5, 9, 512, true}, 2, 3, 16, false, false});
    add<attention_gru_case>(to, decoder_row{{1, 1, 1, 1, false}, 1, 1, 1, false, false});
    add<attention_gru_case>(to, decoder_row{{3, 5, 7, 18, true}, 4, 3, 6, true, true});
    add<attention_gru_case>(to, decoder_row{{2, 18, 5, 4, false}, 3, 2, 17, false, false});
    for (const precision products : {precision::bfloat16, precision::float16})
        add<attention_gru_case>(to,
                                decoder_row{{3, 5, 7, 18, true, products}, 4, 3, 6, true, true});
    add<attention_gru_case>(
        to, decoder_row{{2, 18, 5, 4, false, precision::bfloat16}, 3, 2, 17, false, false});
}

void add_timed_additive_attention_cases(cases& to, std::size_t batch) {
    for (const precision products : {precision::float32, precision::bfloat16})
        add<attention_gru_case>(
            to, decoder_row{{batch, 32, 256, 256, false, products}, 32, 256, 256, true, false});
}

} // namespace troupe::test
