#include <algorithm>
#include <array>
#include <tuple>

#include "tests/conformance/case_tools.hpp"

namespace troupe::test {

namespace {

struct linear_case final : operation_case {
    std::size_t samples, ins, outs;
    precision products;

    linear_case(std::size_t samples, std::size_t ins, std::size_t outs, precision products)
        : samples{samples}, ins{ins}, outs{outs}, products{products} {}

    std::string name() const override {
        return "linear " + by({samples, ins}) + " to " + std::to_string(outs) + suffix_of(products);
    }
    std::vector<tensor_shape> input_shapes() const override {
        return {{samples, ins}, {outs, ins}, {outs}};
    }
    tensor_shape output_shape() const override { return {samples, outs}; }
    double forward_flops() const override { return 2.0 * count({samples, ins, outs}); }
    bool is_rounded() const override { return products == precision::bfloat16; }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        struct state {
            tensor output, to_input, to_weight, to_bias;
        };
        auto s = std::make_shared<state>();
        *s = {poisoned(context, output_shape()), poisoned(context, inputs[0].shape()),
              poisoned(context, inputs[1].shape()), poisoned(context, inputs[2].shape())};
        auto& ops = context.ops;
        return {[=, products = products, &ops] {
                    return ops.run(
                        linear_forward{inputs[0], inputs[1], inputs[2], s->output, products});
                },
                [=, products = products, &ops] {
                    return ops.run(linear_backward{inputs[0], inputs[1], output_gradient,
                                                   &s->to_input, s->to_weight, s->to_bias,
                                                   products});
                },
                [=] { return std::vector{s->output}; },
                [=] {
                    return std::vector{s->to_input, s->to_weight, s->to_bias};
                }};
    }
};

} // namespace

void add_linear_cases(cases& to) {
    for (const precision products : {precision::float32, precision::bfloat16})
        for (const auto& [samples, ins, outs] : std::initializer_list<std::array<std::size_t, 3>>{
                 {1, 1, 1}, {3, 5, 7}, {1, 33, 10}, {17, 64, 31}})
            add<linear_case>(to, samples, ins, outs, products);
    // More than one piece of each dimension.
    add<linear_case>(to, 37u, 900u, 700u, precision::bfloat16);
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
