#include "kernels/reference/reference_operations.hpp"

#include <vector>

namespace troupe {

namespace {

std::vector<double> factors(const tensor& t, precision products) {
    std::vector<double> values;
    for (const float x : t.values<float>())
        values.push_back(factor(double{x}, products));
    return values;
}

} // namespace

result<void> reference_operations::compute(const linear_forward& op) {
    const std::size_t samples = op.input.shape()[0];
    const std::size_t ins = op.weight.shape()[1];
    const std::size_t outs = op.weight.shape()[0];
    const auto input = factors(op.input, op.products);
    const auto weight = factors(op.weight, op.products);
    tensor& sums = op.pre_activation != nullptr ? *op.pre_activation : op.output;
    const auto output = sums.mutable_values<float>();
    for (std::size_t s = 0; s < samples; ++s)
        for (std::size_t o = 0; o < outs; ++o) {
            double sum = op.bias != nullptr ? op.bias->values<float>()[o] : 0;
            for (std::size_t i = 0; i < ins; ++i)
                sum += input[s * ins + i] * weight[o * ins + i];
            output[s * outs + o] = static_cast<float>(sum);
        }
    if (op.activation)
        return compute(pointwise_forward{*op.activation, sums, op.output});
    return {};
}

result<void> reference_operations::compute(const linear_backward& op) {
    const std::size_t samples = op.input.shape()[0];
    const std::size_t ins = op.weight.shape()[1];
    const std::size_t outs = op.weight.shape()[0];
    const auto input = factors(op.input, op.products);
    const auto weight = factors(op.weight, op.products);
    const auto gradient = factors(op.output_gradient, op.products);
    const auto bias = op.output_gradient.values<float>();
    auto to_input = zeros(samples * ins);
    auto to_weight = zeros(outs * ins);
    auto to_bias = zeros(outs);
    for (std::size_t s = 0; s < samples; ++s)
        for (std::size_t o = 0; o < outs; ++o) {
            const double g = gradient[s * outs + o];
            to_bias[o] += double{bias[s * outs + o]};
            for (std::size_t i = 0; i < ins; ++i) {
                to_weight[o * ins + i] += g * input[s * ins + i];
                to_input[s * ins + i] += g * weight[o * ins + i];
            }
        }
    if (op.weight_gradient != nullptr)
        round_into(to_weight, *op.weight_gradient);
    if (op.bias_gradient != nullptr)
        round_into(to_bias, *op.bias_gradient);
    if (op.input_gradient != nullptr)
        round_into(to_input, *op.input_gradient);
    return {};
}

} // namespace troupe
