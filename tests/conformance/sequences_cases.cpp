#include <algorithm>
#include <string>

#include "schemas/base/random.hpp"
#include "tests/conformance/case_tools.hpp"

namespace troupe::test {

namespace {

// Operations with one input, one output and a gradient each.
struct sequence_case : operation_case {
    struct state {
        tensor output, to_input;
    };
    std::shared_ptr<state> state_for(compute_context& context, const tensor& input) const {
        return std::make_shared<state>(
            state{poisoned(context, output_shape()), poisoned(context, input.shape())});
    }
    static prepared_case prepared(std::shared_ptr<state> s, std::function<result<void>()> forward,
                                  std::function<result<void>()> backward) {
        return {std::move(forward), std::move(backward), [=] { return std::vector{s->output}; },
                [=] { return std::vector{s->to_input}; }};
    }
};

struct dropout_case final : sequence_case {
    tensor_shape shape;

    explicit dropout_case(tensor_shape shape) : shape{shape} {}

    std::string name() const override { return "dropout " + by(shape); }
    std::vector<tensor_shape> input_shapes() const override { return {shape}; }
    tensor_shape output_shape() const override { return shape; }
    double forward_flops() const override { return count(shape); }
    double backward_flops() const override { return count(shape); }
    double forward_bytes() const override { return 8 * count(shape); }
    double backward_bytes() const override { return 8 * count(shape); }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        auto s = state_for(context, inputs[0]);
        const dropout_key key{.stream = 0x123456789abcdef, .minibatch = 0x17fffffff};
        auto& ops = context.ops;
        return prepared(
            s,
            [=, &ops] {
                return ops.run(dropout{0.3f, key, 5, inputs[0], s->output});
            },
            [=, &ops] {
                return ops.run(dropout{0.3f, key, 5, output_gradient, s->to_input});
            });
    }
};

struct embedding_case final : sequence_case {
    tensor_shape indices;
    std::size_t vocabulary, width;

    embedding_case(tensor_shape indices, std::size_t vocabulary, std::size_t width)
        : indices{indices}, vocabulary{vocabulary}, width{width} {}

    std::string name() const override {
        return "embedding " + by(indices) + " of " + by({vocabulary, width});
    }
    std::vector<tensor_shape> input_shapes() const override { return {{vocabulary, width}}; }
    tensor_shape output_shape() const override {
        std::vector<std::size_t> shape{indices.dimensions().begin(), indices.dimensions().end()};
        shape.push_back(width);
        return tensor_shape{shape};
    }
    double forward_flops() const override { return count(output_shape()); }
    double backward_flops() const override { return count(output_shape()); }
    double forward_bytes() const override { return 8 * count(output_shape()); }
    double backward_bytes() const override {
        return 4 * (count(output_shape()) + count({vocabulary, width}));
    }

    std::vector<tensor> constants(compute_context& context) const override {
        tensor at = poisoned(context, indices, data_type::int32);
        random_stream random{7}; // some indices more than once, some never
        for (auto& index : at.mutable_values<std::int32_t>())
            index = static_cast<std::int32_t>(random.below(vocabulary));
        return {at};
    }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        auto s = state_for(context, inputs[0]);
        const tensor at = constants(context)[0];
        auto& ops = context.ops;
        return prepared(
            s,
            [=, &ops] {
                return ops.run(embedding_forward{at, inputs[0], s->output});
            },
            [=, &ops] {
                return ops.run(embedding_backward{at, output_gradient, s->to_input});
            });
    }
};

struct softmax_case final : sequence_case {
    tensor_shape shape;

    explicit softmax_case(tensor_shape shape) : shape{shape} {}

    std::string name() const override { return "softmax " + by(shape); }
    std::vector<tensor_shape> input_shapes() const override { return {shape}; }
    tensor_shape output_shape() const override { return shape; }
    double forward_flops() const override { return 20 * count(shape); }
    double backward_flops() const override { return 4 * count(shape); }
    double forward_bytes() const override { return 8 * count(shape); }
    double backward_bytes() const override { return 12 * count(shape); }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        auto s = state_for(context, inputs[0]);
        auto& ops = context.ops;
        return prepared(
            s,
            [=, &ops] {
                return ops.run(softmax_forward{inputs[0], s->output});
            },
            [=, &ops] {
                return ops.run(softmax_backward{s->output, output_gradient, s->to_input});
            });
    }
};

// Learned positions; the gradient of the input is that of the output.
struct positions_case final : operation_case {
    tensor_shape shape;

    explicit positions_case(tensor_shape shape) : shape{shape} {}

    std::string name() const override { return "add_to_samples " + by(shape); }
    std::vector<tensor_shape> input_shapes() const override {
        return {shape, shape.without_first()};
    }
    tensor_shape output_shape() const override { return shape; }
    double forward_flops() const override { return count(shape); }
    double backward_flops() const override { return count(shape); }
    double forward_bytes() const override { return 8 * count(shape); }
    double backward_bytes() const override { return 4 * count(shape); }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        auto output = std::make_shared<tensor>(poisoned(context, shape));
        auto to_addend = std::make_shared<tensor>(poisoned(context, shape.without_first()));
        auto& ops = context.ops;
        return {[=, &ops] {
                    return ops.run(add_to_samples{inputs[0], inputs[1], *output});
                },
                [=, &ops] {
                    return ops.run(sum_of_samples{output_gradient, *to_addend});
                },
                [=] { return std::vector{*output}; },
                [=] {
                    return std::vector{output_gradient, *to_addend};
                }};
    }
};

// Samples of every length in turn, padding alone too, some with padding before their last token.
struct lengths_case final : operation_case {
    static constexpr std::int32_t padding = 3;
    tensor_shape shape;

    explicit lengths_case(tensor_shape shape) : shape{shape} {}

    std::string name() const override { return "sequence_lengths " + by(shape); }
    std::vector<tensor_shape> input_shapes() const override { return {}; }
    tensor_shape output_shape() const override { return {shape[0]}; }
    double forward_flops() const override { return count(shape); }
    double backward_flops() const override { return 0; }

    std::vector<tensor> constants(compute_context& context) const override {
        tensor tokens = poisoned(context, shape, data_type::int32);
        random_stream random{3};
        for (std::size_t s = 0; s < shape[0]; ++s)
            for (std::size_t p = 0; p < shape[1]; ++p)
                tokens.mutable_values<std::int32_t>()[s * shape[1] + p] =
                    p < s % (shape[1] + 1) ? static_cast<std::int32_t>(random.below(5)) : padding;
        return {tokens};
    }

    prepared_case prepare(compute_context& context, const std::vector<tensor>&,
                          const tensor&) const override {
        const tensor tokens = constants(context)[0];
        auto lengths =
            std::make_shared<tensor>(poisoned(context, output_shape(), data_type::int32));
        auto numbers = std::make_shared<tensor>(poisoned(context, output_shape()));
        auto& ops = context.ops;
        return {[=, &ops] {
                    return ops.run(sequence_lengths{tokens, padding, *lengths});
                },
                {},
                [=] {
                    std::ranges::transform(lengths->values<std::int32_t>(),
                                           numbers->mutable_values<float>().begin(),
                                           [](std::int32_t x) { return static_cast<float>(x); });
                    return std::vector{*numbers};
                },
                [] { return std::vector<tensor>{}; }};
    }
};

} // namespace

void add_sequences_cases(cases& to) {
    add<dropout_case>(to, tensor_shape{1, 1});
    add<dropout_case>(to, tensor_shape{7, 3, 37}); // rows that no group of four words fits
    add<dropout_case>(to, tensor_shape{7, 300});   // and such that it does
    add<embedding_case>(to, tensor_shape{1}, 1u, 1u);
    add<embedding_case>(to, tensor_shape{5, 11}, 13u, 7u);
    add<embedding_case>(to, tensor_shape{2, 3, 5}, 40u, 33u);
    add<embedding_case>(to, tensor_shape{75}, 2u,
                        131u); // more places of a row than a warp has threads
    add<embedding_case>(to, tensor_shape{3, 350}, 700u, 2u); // indices of two digits, of two tiles
    add<softmax_case>(to, tensor_shape{1});
    add<softmax_case>(to, tensor_shape{3, 5, 67});
    add<softmax_case>(to, tensor_shape{2, 1100}); // wider than a warp of a GPU does alone
    add<positions_case>(to, tensor_shape{1, 1});
    add<positions_case>(to, tensor_shape{5, 3, 37});
    add<positions_case>(to, tensor_shape{5000, 3}); // more samples than a GPU takes side by side
    add<positions_case>(to, tensor_shape{2, 700});
    for (const tensor_shape& shape : {tensor_shape{1, 1}, {9, 7}, {70, 67}})
        add<lengths_case>(to, shape);
    add_attention_cases(to);
}

void add_timed_sequences_cases(cases& to, std::size_t) {
    // A small GPT: 8 samples of 256 positions.
    add<dropout_case>(to, tensor_shape{8, 256, 320});
    add<embedding_case>(to, tensor_shape{8, 256}, 16384u, 320u);
    add<positions_case>(to, tensor_shape{8, 256, 320});
    add<softmax_case>(to, tensor_shape{8, 256, 256});
    add_timed_attention_cases(to);
}

} // namespace troupe::test
