#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "tests/conformance/case_tools.hpp"

namespace troupe::test {

namespace {

// Alone or with an activation, which as in training leaves what its backward pass takes.
struct linear_case final : operation_case {
    std::size_t samples, ins, outs;
    precision products;
    bool has_bias;
    std::optional<pointwise> activation;
    std::string activation_name;

    linear_case(std::size_t samples, std::size_t ins, std::size_t outs, precision products,
                bool has_bias = true)
        : samples{samples}, ins{ins}, outs{outs}, products{products}, has_bias{has_bias} {}
    linear_case(std::size_t samples, std::size_t ins, std::size_t outs, precision products,
                bool has_bias, pointwise activation, std::string name)
        : samples{samples}, ins{ins}, outs{outs}, products{products}, has_bias{has_bias},
          activation{activation}, activation_name{std::move(name)} {}

    std::string name() const override {
        return "linear " + by({samples, ins}) + " to " + std::to_string(outs) +
               (has_bias ? "" : ", no bias") + (activation ? ", " + activation_name : "") +
               suffix_of(products);
    }
    std::vector<tensor_shape> input_shapes() const override {
        std::vector<tensor_shape> shapes{{samples, ins}, {outs, ins}};
        if (has_bias)
            shapes.push_back({outs});
        return shapes;
    }
    tensor_shape output_shape() const override { return {samples, outs}; }
    double forward_flops() const override { return 2.0 * count({samples, ins, outs}); }
    bool is_rounded() const override { return products != precision::float32; }
    bool has_kinks() const override { return activation == pointwise::relu; }
    // On GPUs gelu_tanh may be cuBLASLt's where products are rounded.
    float tolerance() const override {
        const bool is_coarse =
            products == precision::tfloat32 || (activation == pointwise::gelu_tanh && is_rounded());
        return is_coarse ? 1e-3f : 2e-5f;
    }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        struct state {
            tensor output;
            tensor pre_activation; // only where it is kept
            tensor to_sums;
            std::vector<tensor> gradients;
        };
        auto s = std::make_shared<state>();
        s->output = poisoned(context, output_shape());
        s->to_sums = output_gradient;
        if (activation)
            s->to_sums = poisoned(context, output_shape());
        if (activation && !keeps_output(*activation))
            s->pre_activation = poisoned(context, output_shape());
        for (const tensor& input : inputs)
            s->gradients.push_back(poisoned(context, input.shape()));
        auto& ops = context.ops;
        return {[=, this, &ops] {
                    return ops.run(linear_forward{
                        inputs[0], inputs[1], has_bias ? &inputs[2] : nullptr, s->output, products,
                        activation, s->pre_activation ? &s->pre_activation : nullptr});
                },
                [=, this, &ops] {
                    if (activation) {
                        const tensor& kept = s->pre_activation ? s->pre_activation : s->output;
                        if (auto done = ops.run(
                                pointwise_backward{*activation, kept, output_gradient, s->to_sums});
                            !done)
                            return done;
                    }
                    auto& to = s->gradients;
                    return ops.run(linear_backward{inputs[0], inputs[1], s->to_sums, &to[0], &to[1],
                                                   has_bias ? &to[2] : nullptr, products});
                },
                [=] {
                    return s->pre_activation ? std::vector{s->output, s->pre_activation}
                                             : std::vector{s->output};
                },
                [=] { return s->gradients; }};
    }
};

struct activation_row {
    pointwise function;
    const char* name;
};
constexpr activation_row activations[] = {
    {pointwise::relu, "relu"}, {pointwise::gelu, "gelu"},       {pointwise::gelu_tanh, "gelu_tanh"},
    {pointwise::silu, "silu"}, {pointwise::sigmoid, "sigmoid"}, {pointwise::tanh, "tanh"}};

} // namespace

void add_linear_cases(cases& to) {
    for (const precision products : {precision::float32, precision::bfloat16, precision::float16})
        for (const auto& [samples, ins, outs] : std::initializer_list<std::array<std::size_t, 3>>{
                 {1, 1, 1}, {3, 5, 7}, {1, 33, 10}, {17, 64, 31}})
            add<linear_case>(to, samples, ins, outs, products);
    add<linear_case>(to, 1u, 3u, 2u, precision::float32, false);
    add<linear_case>(to, 17u, 33u, 10u, precision::float32, false);
    add<linear_case>(to, 17u, 64u, 31u, precision::bfloat16, false);
    add<linear_case>(to, 17u, 64u, 31u, precision::tfloat32);
    // Rows of 8 numbers, of an even and of an odd number of them: cuBLASLt does not take all together with an activation.
    for (const auto& [function, name] : activations)
        for (const bool has_bias : {true, false})
            for (const auto& [samples, ins, outs] :
                 std::initializer_list<std::array<std::size_t, 3>>{
                     {5, 7, 16}, {3, 9, 6}, {4, 5, 3}})
                add<linear_case>(to, samples, ins, outs, precision::float32, has_bias, function,
                                 name);
    for (const std::size_t outs : {24u, 31u}) {
        add<linear_case>(to, 17u, 64u, outs, precision::bfloat16, true, pointwise::gelu_tanh,
                         "gelu_tanh");
        add<linear_case>(to, 17u, 64u, outs, precision::float16, true, pointwise::relu, "relu");
    }
    // More than one piece of each dimension.
    add<linear_case>(to, 37u, 900u, 700u, precision::bfloat16);
    add<linear_case>(to, 37u, 300u, 70u, precision::float16);
    // Gradients of weights whose rows are a multiple of 2 KB apart, which have loops of their own (product_loops.hpp).
    for (const precision products : {precision::float32, precision::float16})
        add<linear_case>(to, 400u, 160u, 512u, products);
}

void add_timed_linear_cases(cases& to, std::size_t batch) {
    for (const precision products : {precision::float32, precision::bfloat16}) {
        add<linear_case>(to, batch, 3136u, 128u, products);
        add<linear_case>(to, batch, 128u, 10u, products);
        // Of language models, 8 samples of 256 positions, and of AlexNet.
        for (const std::size_t width : {256u, 768u}) {
            add<linear_case>(to, 2048u, width, 4 * width, products);
            add<linear_case>(to, 2048u, 4 * width, width, products);
        }
        add<linear_case>(to, batch, 9216u, 4096u, products);
    }
}

} // namespace troupe::test
