#include <algorithm>
#include <array>
#include <tuple>

#include "tests/conformance/case_tools.hpp"

namespace troupe::test {

namespace {

struct relu_case final : operation_case {
    tensor_shape shape;

    explicit relu_case(tensor_shape shape) : shape{shape} {}

    std::string name() const override { return "relu " + by(shape); }
    std::vector<tensor_shape> input_shapes() const override { return {shape}; }
    tensor_shape output_shape() const override { return shape; }
    double forward_flops() const override { return count(shape); }
    double backward_flops() const override { return count(shape); }
    bool has_kinks() const override { return true; }

    prepared_case prepare(compute_context& context, const std::vector<tensor>& inputs,
                          const tensor& output_gradient) const override {
        auto output = std::make_shared<tensor>(poisoned(context, shape));
        auto to_input = std::make_shared<tensor>(poisoned(context, shape));
        auto& ops = context.ops;
        return {[=, &ops] {
                    return ops.run(relu_forward{inputs[0], *output});
                },
                [=, &ops] {
                    return ops.run(relu_backward{*output, output_gradient, *to_input});
                },
                [=] { return std::vector{*output}; }, [=] { return std::vector{*to_input}; }};
    }
};

} // namespace

void add_elementwise_cases(cases& to) {
    add<relu_case>(to, tensor_shape{1});
    add<relu_case>(to, tensor_shape{3, 67});
}

void add_timed_elementwise_cases(cases& to, std::size_t batch) {
    add<relu_case>(to, tensor_shape{batch, 32, 28, 28});
}

} // namespace troupe::test
