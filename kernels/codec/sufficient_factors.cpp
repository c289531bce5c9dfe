#include "kernels/codec/sufficient_factors.hpp"

#include "kernels/codec/payloads.hpp"

namespace troupe {

double numbers_of_factors(const factor_costs& costs, std::uint64_t outs, std::uint64_t ins) {
    return 2 * static_cast<double>(costs.samples) * static_cast<double>(costs.workers - 1) *
           static_cast<double>(outs + ins);
}

double numbers_of_whole(const factor_costs& costs, std::uint64_t outs, std::uint64_t ins) {
    return 2 * static_cast<double>(outs) * static_cast<double>(ins) *
           static_cast<double>(costs.workers + costs.servers - 2) /
           static_cast<double>(costs.servers);
}

bool factors_are_cheaper(const factor_costs& costs, std::uint64_t outs, std::uint64_t ins) {
    return numbers_of_factors(costs, outs, ins) <= numbers_of_whole(costs, outs, ins);
}

result<tensor> encode_factors(compute_context& context, const tensor& output_gradient,
                              const tensor& input) {
    auto payload = tensor::allocate(context.memory, data_type::float32,
                                    {output_gradient.elements() + input.elements()});
    if (!payload)
        return payload;
    const tensor parts[] = {output_gradient.reshaped({output_gradient.elements()}),
                            input.reshaped({input.elements()})};
    const auto done = context.ops.run(concat{.axis = 0, .inputs = parts, .output = *payload});
    return done ? std::move(payload) : result<tensor>{done.failure()};
}

result<void> decode_factors(compute_context& context, const tensor& payload, std::size_t samples,
                            float factor, const tensor* addend, tensor& output) {
    const std::size_t outs = output.shape()[0], ins = output.shape()[1];
    std::size_t elements = 0;
    if (!payload || payload.type() != data_type::float32 || payload.shape().rank() != 1 ||
        __builtin_mul_overflow(samples, outs + ins, &elements) || payload.elements() != elements)
        return wrong_payload(output.shape(), payload);
    const tensor left = payload.rows(0, samples * outs).reshaped({samples, outs});
    const tensor right = payload.rows(samples * outs, samples * ins).reshaped({samples, ins});
    return context.ops.run(matrix_multiply{{left, true}, {right}, factor, addend, output});
}

} // namespace troupe
