#include <algorithm>
#include <array>
#include <tuple>

#include "tests/conformance/case_tools.hpp"

namespace troupe::test {

namespace {

// A function of one number.
struct pointwise_case final : operation_case {
    pointwise function;
    std::string function_name;
    tensor_shape shape;

    pointwise_case(pointwise function, std::string function_name, tensor_shape shape)
        : function{function}, function_name{std::move(function_name)}, shape{shape} {}

    std::string name() const override { return function_name + " " + by(shape); }
    std::vector<tensor_shape> input_shapes() const override { return {shape}; }
    tensor_shape output_shape() const override { return shape; }
    double forward_flops() const override {
        return (function == pointwise::relu ? 1 : 20) * count(shape);
    }
    double backward_flops() const override { return forward_flops(); }
    double forward_bytes() const override {
        return function == pointwise::relu ? 2 * 4 * count(shape) : 0;
    }
    double backward_bytes() const override { return 1.5 * forward_bytes(); }
    bool has_kinks() const override { return function == pointwise::relu; }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        auto output = std::make_shared<tensor>(poisoned(context, shape));
        auto to_input = std::make_shared<tensor>(poisoned(context, shape));
        auto& ops = context.ops;
        const pointwise f = function;
        return {[=, &ops] {
                    return ops.run(pointwise_forward{f, inputs[0], *output});
                },
                [=, &ops] {
                    return ops.run(pointwise_backward{f, keeps_output(f) ? *output : inputs[0],
                                                      output_gradient, *to_input});
                },
                [=] { return std::vector{*output}; }, [=] { return std::vector{*to_input}; }};
    }
};

struct swiglu_case final : operation_case {
    tensor_shape shape;

    explicit swiglu_case(tensor_shape shape) : shape{shape} {}

    std::string name() const override { return "swiglu " + by(shape); }
    std::vector<tensor_shape> input_shapes() const override { return {shape, shape}; }
    tensor_shape output_shape() const override { return shape; }
    double forward_flops() const override { return 21 * count(shape); }
    double backward_flops() const override { return 25 * count(shape); }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        auto o = std::make_shared<std::vector<tensor>>();
        for (int i = 0; i < 3; ++i)
            o->push_back(poisoned(context, shape));
        auto& ops = context.ops;
        return {[=, &ops] {
                    return ops.run(swiglu_forward{inputs[0], inputs[1], (*o)[0]});
                },
                [=, &ops] {
                    return ops.run(
                        swiglu_backward{inputs[0], inputs[1], output_gradient, (*o)[1], (*o)[2]});
                },
                [=] { return std::vector{(*o)[0]}; },
                [=] {
                    return std::vector{(*o)[1], (*o)[2]};
                }};
    }
};

struct function_row {
    pointwise function;
    const char* name;
};
constexpr function_row functions[] = {
    {pointwise::relu, "relu"}, {pointwise::gelu, "gelu"},       {pointwise::gelu_tanh, "gelu_tanh"},
    {pointwise::silu, "silu"}, {pointwise::sigmoid, "sigmoid"}, {pointwise::tanh, "tanh"}};

} // namespace

void add_elementwise_cases(cases& to) {
    for (const auto& [function, name] : functions) {
        add<pointwise_case>(to, function, name, tensor_shape{1});
        add<pointwise_case>(to, function, name, tensor_shape{5, 211});
    }
    add<swiglu_case>(to, tensor_shape{1});
    add<swiglu_case>(to, tensor_shape{3, 67});
    add<swiglu_case>(to, tensor_shape{5, 411}); // more than a block of threads
}

void add_timed_elementwise_cases(cases& to, std::size_t batch) {
    for (const auto& [function, name] : functions)
        add<pointwise_case>(to, function, name, tensor_shape{batch, 32, 28, 28});
    add<swiglu_case>(to, tensor_shape{batch, 32, 28, 28});
}

} // namespace troupe::test
