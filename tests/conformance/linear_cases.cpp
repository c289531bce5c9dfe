#include <algorithm>
#include <array>
#include <tuple>

#include "tests/conformance/case_tools.hpp"

namespace troupe::test {

namespace {

struct linear_case final : operation_case {
    std::size_t samples, ins, outs;
    precision products;
    bool has_bias;

    linear_case(std::size_t samples, std::size_t ins, std::size_t outs, precision products,
                bool has_bias = true)
        : samples{samples}, ins{ins}, outs{outs}, products{products}, has_bias{has_bias} {}

    std::string name() const override {
        return "linear " + by({samples, ins}) + " to " + std::to_string(outs) +
               (has_bias ? "" : ", no bias") + suffix_of(products);
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
    float tolerance() const override { return products == precision::tfloat32 ? 1e-3f : 2e-5f; }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        struct state {
            tensor output;
            std::vector<tensor> gradients;
        };
        auto s = std::make_shared<state>();
        s->output = poisoned(context, output_shape());
        for (const tensor& input : inputs)
            s->gradients.push_back(poisoned(context, input.shape()));
        auto& ops = context.ops;
        return {[=, this, &ops] {
                    return ops.run(linear_forward{inputs[0], inputs[1],
                                                  has_bias ? &inputs[2] : nullptr, s->output,
                                                  products});
                },
                [=, this, &ops] {
                    auto& to = s->gradients;
                    return ops.run(linear_backward{inputs[0], inputs[1], output_gradient, &to[0],
                                                   &to[1], has_bias ? &to[2] : nullptr, products});
                },
                [=] { return std::vector{s->output}; }, [=] { return s->gradients; }};
    }
};

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
    // More than one piece of each dimension.
    add<linear_case>(to, 37u, 900u, 700u, precision::bfloat16);
    add<linear_case>(to, 37u, 300u, 70u, precision::float16);
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
