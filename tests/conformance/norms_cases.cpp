#include "tests/conformance/case_tools.hpp"

namespace troupe::test {

namespace {

double bytes(double elements) {
    return elements * static_cast<double>(sizeof(float));
}

struct layer_norm_case final : operation_case {
    std::size_t rows, width;

    layer_norm_case(std::size_t rows, std::size_t width) : rows{rows}, width{width} {}

    std::string name() const override { return "layer_norm " + by({rows, width}); }
    std::vector<tensor_shape> input_shapes() const override {
        return {{rows, width}, {width}, {width}};
    }
    tensor_shape output_shape() const override { return {rows, width}; }
    double forward_flops() const override { return 8 * count(output_shape()); }
    double forward_bytes() const override { return bytes(2 * count(output_shape())); }
    double backward_bytes() const override { return bytes(3 * count(output_shape())); }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        struct state {
            tensor output, mean, inverse_deviation, to_input, to_weight, to_bias;
        };
        auto s = std::make_shared<state>();
        *s = {poisoned(context, output_shape()), poisoned(context, {rows}),
              poisoned(context, {rows}),         poisoned(context, output_shape()),
              poisoned(context, {width}),        poisoned(context, {width})};
        auto& ops = context.ops;
        return {[=, &ops] {
                    return ops.run(layer_norm_forward{.input = inputs[0],
                                                      .weight = inputs[1],
                                                      .bias = inputs[2],
                                                      .output = s->output,
                                                      .mean = s->mean,
                                                      .inverse_deviation = s->inverse_deviation});
                },
                [=, &ops] {
                    return ops.run(layer_norm_backward{inputs[0], inputs[1], s->mean,
                                                       s->inverse_deviation, output_gradient,
                                                       &s->to_input, s->to_weight, s->to_bias});
                },
                [=] {
                    return std::vector{s->output, s->mean, s->inverse_deviation};
                },
                [=] {
                    return std::vector{s->to_input, s->to_weight, s->to_bias};
                }};
    }
};

struct rms_norm_case final : operation_case {
    std::size_t rows, width;

    rms_norm_case(std::size_t rows, std::size_t width) : rows{rows}, width{width} {}

    std::string name() const override { return "rms_norm " + by({rows, width}); }
    std::vector<tensor_shape> input_shapes() const override { return {{rows, width}, {width}}; }
    tensor_shape output_shape() const override { return {rows, width}; }
    double forward_flops() const override { return 4 * count(output_shape()); }
    double forward_bytes() const override { return bytes(2 * count(output_shape())); }
    double backward_bytes() const override { return bytes(3 * count(output_shape())); }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        struct state {
            tensor output, inverse_deviation, to_input, to_weight;
        };
        auto s = std::make_shared<state>();
        *s = {poisoned(context, output_shape()), poisoned(context, {rows}),
              poisoned(context, output_shape()), poisoned(context, {width})};
        auto& ops = context.ops;
        return {[=, &ops] {
                    return ops.run(rms_norm_forward{.input = inputs[0],
                                                    .weight = inputs[1],
                                                    .output = s->output,
                                                    .inverse_deviation = s->inverse_deviation});
                },
                [=, &ops] {
                    return ops.run(rms_norm_backward{inputs[0], inputs[1], s->inverse_deviation,
                                                     output_gradient, &s->to_input, s->to_weight});
                },
                [=] {
                    return std::vector{s->output, s->inverse_deviation};
                },
                [=] {
                    return std::vector{s->to_input, s->to_weight};
                }};
    }
};

} // namespace

void add_norms_cases(cases& to) {
    for (const auto& [rows, width] : std::initializer_list<std::pair<std::size_t, std::size_t>>{
             {1, 5}, {3, 16}, {7, 67}, {2, 211}, {70, 9}, {2, 1100}}) {
        add<layer_norm_case>(to, rows, width);
        add<rms_norm_case>(to, rows, width);
    }
}

void add_timed_norms_cases(cases& to, std::size_t batch) {
    add<layer_norm_case>(to, batch * 64, 768u);
    add<rms_norm_case>(to, batch * 64, 768u);
}

} // namespace troupe::test
