#include <cmath>

#include "kernels/reference/reference_operations.hpp"

namespace troupe {

namespace {

double at(const matrix_operand& m, std::size_t row, std::size_t column) {
    const std::size_t width = m.values.shape()[1];
    return double{
        m.values.values<float>()[m.transposed ? column * width + row : row * width + column]};
}

double dot(const double* x, const double* y, std::size_t count) {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i)
        sum += x[i] * y[i];
    return sum;
}

} // namespace

result<void> reference_operations::compute(const matrix_multiply& op) {
    auto sums = zeros(op.output.elements());
    const std::size_t columns = op.right.columns();
    for (std::size_t i = 0; i < sums.size(); ++i) {
        for (std::size_t k = 0; k < op.left.columns(); ++k)
            sums[i] += at(op.left, i / columns, k) * at(op.right, k, i % columns);
        sums[i] *= double{op.factor};
        if (op.addend != nullptr)
            sums[i] += double{op.addend->values<float>()[i]};
    }
    round_into(sums, op.output);
    return {};
}

result<void> reference_operations::compute(const orthonormalize_rows& op) {
    const auto values = op.input.values<float>();
    std::vector<double> rows(values.begin(), values.end());
    const std::size_t width = op.input.shape()[1];
    for (std::size_t r = 0; r < op.input.shape()[0]; ++r) {
        double* row = rows.data() + r * width;
        const double length = std::sqrt(dot(row, row, width));
        for (std::size_t other = 0; other < r; ++other) {
            const double* unit = rows.data() + other * width;
            const double share = dot(row, unit, width);
            for (std::size_t i = 0; i < width; ++i)
                row[i] -= share * unit[i];
        }
        const double left = std::sqrt(dot(row, row, width));
        const double factor = left > 1e-5 * length ? 1 / left : 0;
        for (std::size_t i = 0; i < width; ++i)
            row[i] *= factor;
    }
    round_into(rows, op.output);
    return {};
}

} // namespace troupe
