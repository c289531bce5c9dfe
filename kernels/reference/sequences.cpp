#include <algorithm>
#include <cmath>

#include "kernels/reference/reference_operations.hpp"

namespace troupe {

result<void> reference_operations::compute(const embedding_forward& op) {
    const std::size_t width = op.table.shape()[1];
    for (std::size_t i = 0; i < op.indices.elements(); ++i) {
        const auto row = static_cast<std::size_t>(op.indices.values<std::int32_t>()[i]);
        for (std::size_t c = 0; c < width; ++c)
            op.output.mutable_values<float>()[i * width + c] =
                op.table.values<float>()[row * width + c];
    }
    return {};
}

result<void> reference_operations::compute(const embedding_backward& op) {
    const std::size_t width = op.table_gradient.shape()[1];
    auto to_table = zeros(op.table_gradient.elements());
    for (std::size_t i = 0; i < op.indices.elements(); ++i) {
        const auto row = static_cast<std::size_t>(op.indices.values<std::int32_t>()[i]);
        for (std::size_t c = 0; c < width; ++c)
            to_table[row * width + c] += op.output_gradient.values<float>()[i * width + c];
    }
    round_into(to_table, op.table_gradient);
    return {};
}

result<void> reference_operations::compute(const add_to_samples& op) {
    const auto addend = op.addend.values<float>();
    for (std::size_t i = 0; i < op.input.elements(); ++i)
        op.output.mutable_values<float>()[i] =
            op.input.values<float>()[i] + addend[i % addend.size()];
    return {};
}

result<void> reference_operations::compute(const sum_of_samples& op) {
    auto sum = zeros(op.sum.elements());
    for (std::size_t i = 0; i < op.input.elements(); ++i)
        sum[i % sum.size()] += op.input.values<float>()[i];
    round_into(sum, op.sum);
    return {};
}

result<void> reference_operations::compute(const sequence_lengths& op) {
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

result<void> reference_operations::compute(const softmax_forward& op) {
    const std::size_t columns = op.input.shape()[op.input.shape().rank() - 1];
    for (std::size_t first = 0; first < op.input.elements(); first += columns) {
        const auto row = op.input.values<float>().subspan(first, columns);
        // Shifted by the largest, so that exp does not overflow.
        const double largest = *std::ranges::max_element(row);
        auto powers = zeros(columns);
        double total = 0;
        for (std::size_t c = 0; c < columns; ++c)
            total += powers[c] = std::exp(row[c] - largest);
        for (std::size_t c = 0; c < columns; ++c)
            op.output.mutable_values<float>()[first + c] = static_cast<float>(powers[c] / total);
    }
    return {};
}

result<void> reference_operations::compute(const softmax_backward& op) {
    const std::size_t columns = op.output.shape()[op.output.shape().rank() - 1];
    const auto y = op.output.values<float>();
    const auto dy = op.output_gradient.values<float>();
    for (std::size_t first = 0; first < op.output.elements(); first += columns) {
        double mean = 0;
        for (std::size_t i = first; i < first + columns; ++i)
            mean += double{y[i]} * double{dy[i]};
        for (std::size_t i = first; i < first + columns; ++i)
            op.input_gradient.mutable_values<float>()[i] =
                static_cast<float>(double{y[i]} * (double{dy[i]} - mean));
    }
    return {};
}

} // namespace troupe
