#include "kernels/ops/products.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/arithmetic_scope.hpp"
#include "kernels/cpu/codec_loops.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/cpu/floats.hpp"
#include "kernels/cpu/guarded.hpp"
#include "kernels/cpu/loops.hpp"
#include "kernels/cpu/multiplier.hpp"
#include "kernels/cpu/update_loops.hpp"

namespace troupe {

using cpu::floats;

namespace {

cpu::matrix in_memory(const matrix_operand& m) {
    return {floats(m.values), m.values.shape()[1], m.transposed};
}

} // namespace

result<void> cpu_operations::compute(const matrix_multiply& op) {
    float* const output = floats(op.output);
    const std::size_t elements = op.output.elements(), inner = op.left.columns();
    if (op.addend != nullptr && floats(*op.addend) != output)
        std::copy_n(floats(*op.addend), elements, output);
    if (elements == 0 || inner == 0) {
        if (op.addend == nullptr)
            std::fill_n(output, elements, 0.f);
        return {};
    }
    return cpu::guarded([&] {
        const cpu::multiplier multiply{pool_, bf16_loops_, product_loops_, precision::float32};
        multiply({.m = op.left.rows(),
                  .n = op.right.columns(),
                  .k = inner,
                  .alpha = op.factor,
                  .a = in_memory(op.left),
                  .b = in_memory(op.right),
                  .beta = op.addend != nullptr ? 1.f : 0.f,
                  .c = output,
                  .c_stride = op.right.columns()});
    });
}

result<void> cpu_operations::compute(const orthonormalize_rows& op) {
    const cpu::arithmetic_scope scope;
    const std::size_t rows = op.input.shape()[0], width = op.input.shape()[1];
    float* const output = floats(op.output);
    if (output != floats(op.input))
        std::copy_n(floats(op.input), op.input.elements(), output);
    const auto length = [&](const float* row) {
        return std::sqrt(update_loops_.sum_of_squares(row, width));
    };
    for (std::size_t r = 0; r < rows; ++r) {
        float* const row = output + r * width;
        const double before = length(row);
        for (std::size_t other = 0; other < r; ++other) {
            const float* const unit = output + other * width;
            loops_.add_scaled(row, -codec_loops_.dot(row, unit, width), unit, row, width);
        }
        const double left = length(row);
        if (left > 1e-5 * before)
            update_loops_.scale(row, static_cast<float>(1 / left), row, width);
        else
            std::fill_n(row, width, 0.f);
    }
    return {};
}

} // namespace troupe
