#include <algorithm>
#include <string>

#include "tests/conformance/case_tools.hpp"

namespace troupe::test {

namespace {

struct attention_shape {
    std::size_t samples, queries, keys, width, heads;
    bool causal = false;
    bool is_padded = false; // samples have fewer keys than there is room for
    precision products = precision::float32;
};

// Self attention on queries, keys and values side by side in one tensor, or attention on three tensors.
struct attention_case final : operation_case {
    attention_shape a;
    bool is_packed;

    attention_case(attention_shape a, bool is_packed) : a{a}, is_packed{is_packed} {}

    std::string name() const override {
        return std::string{"attention "} + (a.causal ? "causal " : "") +
               (a.is_padded ? "padded " : "") + (is_packed ? "packed " : "") +
               by({a.samples, a.queries, a.keys}) + ", width " + std::to_string(a.width) +
               ", heads " + std::to_string(a.heads) + suffix_of(a.products);
    }
    std::vector<tensor_shape> input_shapes() const override {
        if (is_packed)
            return {{a.samples, a.queries, 3 * a.width}};
        return {output_shape(), {a.samples, a.keys, a.width}, {a.samples, a.keys, a.width}};
    }
    tensor_shape output_shape() const override { return {a.samples, a.queries, a.width}; }
    // Two products per pair of a query and a key that it sees, and five on the way back. Exponentials are not counted.
    double forward_flops() const override { return 4 * pairs() * static_cast<double>(a.width); }
    double backward_flops() const override { return 10 * pairs() * static_cast<double>(a.width); }
    bool is_rounded() const override { return rounds(a.products); }
    // Factors that are computed on the way are rounded in different places, or not at all.
    float tolerance() const override {
        return a.products == precision::bfloat16 ? 6e-3f : is_rounded() ? 8e-4f : 2e-5f;
    }

    std::vector<tensor> constants(compute_context& context) const override;
    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override;

  private:
    std::size_t length(std::size_t sample) const {
        return a.is_padded ? a.keys - sample * 3 % a.keys : a.keys;
    }
    double pairs() const {
        std::size_t sum = 0;
        for (std::size_t s = 0; s < a.samples; ++s)
            for (std::size_t i = 0; i < a.queries; ++i)
                sum += a.causal ? std::min(i + 1, length(s)) : length(s);
        return static_cast<double>(sum);
    }
};

// The samples' lengths.
std::vector<tensor> attention_case::constants(compute_context& context) const {
    if (!a.is_padded)
        return {};
    tensor lengths = poisoned(context, {a.samples}, data_type::int32);
    for (std::size_t i = 0; i < a.samples; ++i)
        lengths.mutable_values<std::int32_t>()[i] = static_cast<std::int32_t>(length(i));
    return {lengths};
}

prepared_case attention_case::prepare(compute_context& context, const std::vector<tensor>& inputs,
                                      const tensor& output_gradient) const {
    struct state {
        std::vector<tensor> inputs, constants, gradients;
        tensor output, log_sums;
    };
    auto s = std::make_shared<state>();
    s->inputs = inputs;
    s->constants = constants(context);
    s->output = poisoned(context, output_shape());
    s->log_sums = poisoned(context, {a.samples, a.heads, a.queries});
    for (const auto& input : inputs)
        s->gradients.push_back(poisoned(context, input.shape()));
    const tensor* lengths = s->constants.empty() ? nullptr : &s->constants[0];
    const auto part = [packed = is_packed](auto& tensors, std::size_t i) -> auto& {
        return tensors[packed ? 0 : i];
    };
    const auto first = [step = is_packed ? a.width : 0](std::size_t i) { return i * step; };
    const attention_settings settings{.heads = a.heads, .causal = a.causal};
    const columns q{part(s->inputs, 0), first(0)}, k{part(s->inputs, 1), first(1)},
        v{part(s->inputs, 2), first(2)};
    auto& ops = context.ops;
    const precision products = a.products;
    return {[=, &ops] {
                return ops.run(attention_forward{settings, q, k, v, lengths, s->output, s->log_sums,
                                                 products});
            },
            [=, &ops] {
                return ops.run(attention_backward{settings,
                                                  q,
                                                  k,
                                                  v,
                                                  lengths,
                                                  s->output,
                                                  s->log_sums,
                                                  output_gradient,
                                                  {part(s->gradients, 0), first(0)},
                                                  {part(s->gradients, 1), first(1)},
                                                  {part(s->gradients, 2), first(2)},
                                                  products});
            },
            [=] {
                return std::vector{s->output, s->log_sums};
            },
            [=] { return s->gradients; }};
}

void add_rounded_cases(cases& to) {
    constexpr auto bf16 = precision::bfloat16;
    // Widths below and at a multiple of 16 columns; positions that fill a tile of a GPU, and one more.
    for (const std::size_t width : {16, 40, 64, 128})
        for (const std::size_t positions : {1, 17, 64, 65, 130}) {
            const bool causal = positions % 2 == width / 8 % 2;
            const bool is_padded = positions > 64;
            add<attention_case>(
                to, attention_shape{1, positions, positions, width, 1, causal, is_padded, bf16},
                true);
            add<attention_case>(
                to, attention_shape{1, positions, positions, width, 1, !causal, false, bf16}, true);
        }
    for (const bool causal : {false, true})
        add<attention_case>(to, attention_shape{3, 70, 70, 39, 3, causal, true, bf16}, true);
    add<attention_case>(to, attention_shape{2, 70, 5, 16, 2, false, true, bf16}, false);
    add<attention_case>(to, attention_shape{2, 70, 70, 39, 3, true, true, precision::float16},
                        true);
    add<attention_case>(to, attention_shape{2, 3, 135, 80, 2, false, false, bf16}, false);
    // Wider than a tile.
    add<attention_case>(to, attention_shape{2, 70, 70, 132, 1, true, true, bf16}, true);
}

} // namespace

void add_attention_cases(cases& to) {
    for (const bool is_packed : {false, true})
        for (const bool causal : {false, true})
            for (const bool is_padded : {false, true}) {
                add<attention_case>(to, attention_shape{1, 1, 1, 1, 1, causal, is_padded},
                                    is_packed);
                add<attention_case>(to, attention_shape{3, 7, 7, 6, 2, causal, is_padded},
                                    is_packed);
                // More than one block of queries and of keys.
                add<attention_case>(to, attention_shape{2, 291, 291, 24, 3, causal, is_padded},
                                    is_packed);
            }
    for (const bool is_padded : {false, true}) {
        add<attention_case>(to, attention_shape{2, 3, 11, 8, 2, false, is_padded}, false);
        add<attention_case>(to, attention_shape{2, 70, 5, 16, 2, false, is_padded}, false);
        add<attention_case>(to, attention_shape{2, 65, 257, 80, 2, false, is_padded}, false);
    }
    // Wide heads, keys of a second block that nobody sees.
    add<attention_case>(to, attention_shape{2, 66, 66, 100, 1, true, true}, true);
    add<attention_case>(to, attention_shape{2, 5, 66, 132, 1, false, true}, false);
    add_rounded_cases(to);
}

void add_timed_attention_cases(cases& to) {
    for (const bool causal : {false, true}) {
        add<attention_case>(to, attention_shape{8, 256, 256, 320, 8, causal}, true);
        add<attention_case>(to, attention_shape{8, 256, 256, 384, 6, causal}, true);
        add<attention_case>(to, attention_shape{1, 2048, 2048, 320, 8, causal}, true);
        add<attention_case>(
            to, attention_shape{8, 256, 256, 384, 6, causal, false, precision::bfloat16}, true);
    }
}

} // namespace troupe::test
