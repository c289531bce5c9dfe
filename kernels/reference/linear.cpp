#include "kernels/reference/reference_operations.hpp"

namespace troupe {

result<void> reference_operations::compute(const linear_forward& op) {
    const std::size_t samples = op.input.shape()[0];
    const std::size_t ins = op.weight.shape()[1];
    const std::size_t outs = op.weight.shape()[0];
    const auto input = op.input.values<float>();
    const auto weight = op.weight.values<float>();
    const auto output = op.output.mutable_values<float>();
    for (std::size_t s = 0; s < samples; ++s)
        for (std::size_t o = 0; o < outs; ++o) {
            double sum = op.bias != nullptr ? op.bias->values<float>()[o] : 0;
            for (std::size_t i = 0; i < ins; ++i)
                sum += double{input[s * ins + i]} * weight[o * ins + i];
            output[s * outs + o] = static_cast<float>(sum);
        }
    return {};
}

result<void> reference_operations::compute(const linear_backward& op) {
    const std::size_t samples = op.input.shape()[0];
    const std::size_t ins = op.weight.shape()[1];
    const std::size_t outs = op.weight.shape()[0];
    const auto input = op.input.values<float>();
    const auto weight = op.weight.values<float>();
    const auto gradient = op.output_gradient.values<float>();
    auto to_input = zeros(samples * ins);
    auto to_weight = zeros(outs * ins);
    auto to_bias = zeros(outs);
    for (std::size_t s = 0; s < samples; ++s)
        for (std::size_t o = 0; o < outs; ++o) {
            const double g = gradient[s * outs + o];
            to_bias[o] += g;
            for (std::size_t i = 0; i < ins; ++i) {
                to_weight[o * ins + i] += g * input[s * ins + i];
                to_input[s * ins + i] += g * weight[o * ins + i];
            }
        }
    round_into(to_weight, op.weight_gradient);
    if (op.bias_gradient != nullptr)
        round_into(to_bias, *op.bias_gradient);
    if (op.input_gradient != nullptr)
        round_into(to_input, *op.input_gradient);
    return {};
}

} // namespace troupe
