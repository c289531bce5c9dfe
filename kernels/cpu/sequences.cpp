#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cpu/arithmetic_scope.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/cpu/floats.hpp"
#include "kernels/cpu/loops.hpp"
#include "kernels/cpu/sequence_loops.hpp"

namespace troupe {

using cpu::floats;

result<void> cpu_operations::compute(const dropout& op) {
    const cpu::arithmetic_scope scope;
    const auto word = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const dropout_key& key = op.key;
    const double probability{op.probability};
    const cpu::dropout_task task{
        .first = op.first_row * op.input.shape().without_first().elements(),
        .counter = {word(key.minibatch), word(key.minibatch >> 32)},
        .key = {word(key.stream), word(key.stream >> 32)},
        .threshold = static_cast<std::uint32_t>(std::ldexp(probability, 32)),
        .scale = static_cast<float>(1 / (1 - probability))};
    sequence_loops_.dropout(task, floats(op.input), floats(op.output), op.input.elements());
    return {};
}

result<void> cpu_operations::compute(const embedding_forward& op) {
    const std::size_t width = op.table.shape()[1];
    float* output = floats(op.output);
    for (const std::int32_t row : op.indices.values<std::int32_t>())
        output =
            std::copy_n(floats(op.table) + static_cast<std::size_t>(row) * width, width, output);
    return {};
}

result<void> cpu_operations::compute(const embedding_backward& op) {
    const cpu::arithmetic_scope scope;
    const std::size_t width = op.table_gradient.shape()[1];
    std::ranges::fill(op.table_gradient.mutable_values<float>(), 0.f);
    const float* gradient = floats(op.output_gradient);
    for (const std::int32_t row : op.indices.values<std::int32_t>()) {
        float* sum = floats(op.table_gradient) + static_cast<std::size_t>(row) * width;
        loops_.add_scaled(sum, 1, gradient, sum, width);
        gradient += width;
    }
    return {};
}

result<void> cpu_operations::compute(const add_to_samples& op) {
    const cpu::arithmetic_scope scope;
    const std::size_t size = op.addend.elements();
    for (std::size_t first = 0; first < op.input.elements(); first += size)
        loops_.add_scaled(floats(op.input) + first, 1, floats(op.addend), floats(op.output) + first,
                          size);
    return {};
}

result<void> cpu_operations::compute(const sum_of_samples& op) {
    const cpu::arithmetic_scope scope;
    const std::size_t size = op.sum.elements();
    float* sum = floats(op.sum);
    std::fill_n(sum, size, 0.f);
    for (std::size_t first = 0; first < op.input.elements(); first += size)
        loops_.add_scaled(sum, 1, floats(op.input) + first, sum, size);
    return {};
}

result<void> cpu_operations::compute(const sequence_lengths& op) {
    const std::size_t positions = op.tokens.shape()[1];
    for (std::size_t s = 0; s < op.tokens.shape()[0]; ++s) {
        const auto row = op.tokens.values<std::int32_t>().subspan(s * positions, positions);
        std::size_t length = positions;
        while (length > 1 && row[length - 1] == op.padding)
            --length;
        op.lengths.mutable_values<std::int32_t>()[s] = static_cast<std::int32_t>(length);
    }
    return {};
}

result<void> cpu_operations::compute(const softmax_forward& op) {
    const cpu::arithmetic_scope scope;
    const std::size_t columns = op.input.shape()[op.input.shape().rank() - 1];
    sequence_loops_.softmax(floats(op.input), floats(op.output), op.input.elements() / columns,
                            columns);
    return {};
}

result<void> cpu_operations::compute(const softmax_backward& op) {
    const cpu::arithmetic_scope scope;
    const std::size_t columns = op.output.shape()[op.output.shape().rank() - 1];
    sequence_loops_.softmax_back(floats(op.output), floats(op.output_gradient),
                                 floats(op.input_gradient), op.output.elements() / columns,
                                 columns);
    return {};
}

} // namespace troupe
