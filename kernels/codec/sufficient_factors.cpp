#include "kernels/codec/sufficient_factors.hpp"

#include "kernels/codec/payloads.hpp"

namespace troupe {

namespace {

// `are_less`(rows, outs, ins): true if factors of so many rows are to be sent in place of a weight's gradient.
template <class Rule>
payload_forms forms_of_factors(std::span<const tensor_shape> shapes,
                               std::span<const std::size_t> factor_rows, std::size_t samples_max,
                               Rule are_less) {
    payload_forms forms(shapes.size());
    for (std::size_t t = 0; t < shapes.size(); ++t) {
        const std::size_t rows = samples_max * factor_rows[t];
        if (rows > 0 && are_less(rows, shapes[t][0], shapes[t][1]))
            forms[t] = std::make_shared<sufficient_factors>(rows);
    }
    return forms;
}

} // namespace

double numbers_of_factors(const factor_costs& costs, std::uint64_t outs, std::uint64_t ins) {
    return 2 * static_cast<double>(costs.rows) * static_cast<double>(costs.workers - 1) *
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

std::uint64_t sufficient_factors::payload_bytes(const tensor_shape& shape) const {
    return sizeof(float) * rows_max_ * (shape[0] + shape[1]);
}

result<void> sufficient_factors::check(const tensor_shape& shape, const tensor& payload) const {
    const bool fits = payload && payload.type() == data_type::float32 &&
                      payload.shape().rank() == 2 && payload.shape()[0] >= 1 &&
                      payload.shape()[0] <= rows_max_ && payload.shape()[1] == shape[0] + shape[1];
    return fits ? result<void>{} : wrong_payload(shape, payload);
}

result<void> sufficient_factors::decode(compute_context& context, const tensor& payload,
                                        float factor, const tensor* addend, tensor& output) const {
    const std::size_t rows = payload.shape()[0];
    tensor parts[2]; // the output's gradient, the input
    for (std::size_t i = 0; i < 2; ++i) {
        auto part = tensor::allocate(context.memory, data_type::float32, {rows, output.shape()[i]});
        if (!part)
            return part.failure();
        parts[i] = std::move(*part);
    }
    if (auto done = context.ops.run(split{.axis = 1, .input = payload, .outputs = parts}); !done)
        return done;
    return context.ops.run(matrix_multiply{{parts[0], true}, {parts[1]}, factor, addend, output});
}

payload_forms factors_to_ranks(std::span<const tensor_shape> shapes,
                               std::span<const std::size_t> factor_rows, std::size_t samples_max,
                               std::uint32_t ranks) {
    return forms_of_factors(shapes, factor_rows, samples_max,
                            [ranks](std::size_t rows, std::size_t outs, std::size_t ins) {
                                return factors_are_cheaper(
                                    {.workers = ranks, .servers = ranks, .rows = rows}, outs, ins);
                            });
}

payload_forms factors_to_server(std::span<const tensor_shape> shapes,
                                std::span<const std::size_t> factor_rows, std::size_t samples_max) {
    return forms_of_factors(
        shapes, factor_rows, samples_max, [](std::size_t rows, std::size_t outs, std::size_t ins) {
            return static_cast<double>(rows) * static_cast<double>(outs + ins) <=
                   static_cast<double>(outs) * static_cast<double>(ins);
        });
}

} // namespace troupe
