#include "kernels/cuda/columns.hpp"

#include "kernels/cuda/elements.hpp"

namespace troupe::cuda {

namespace {

constexpr std::size_t rows_of_group = 64;

// Threads beside one another read beside one another. Block y sums its group of rows.
__global__ void sum_group_kernel(const float* values, std::size_t rows, std::size_t columns,
                                 float* sums) {
    const std::size_t column = first_element();
    if (column >= columns)
        return;
    const std::size_t first = blockIdx.y * rows_of_group;
    const std::size_t end = first + rows_of_group < rows ? first + rows_of_group : rows;
    float sum = 0;
    for (std::size_t r = first; r < end; ++r)
        sum += values[r * columns + column];
    sums[blockIdx.y * columns + column] = sum;
}

} // namespace

result<void> sum_rows(const row_sum& s, execution& run) {
    const float* values = s.values;
    std::size_t rows = s.rows;
    buffer_ref kept;
    for (;;) {
        const std::size_t groups = (rows + rows_of_group - 1) / rows_of_group;
        buffer_ref next;
        if (groups > 1) {
            auto made = run.scratch(groups * s.columns * sizeof(float));
            if (!made)
                return made.failure();
            next = std::move(*made);
        }
        float* const sums = groups > 1 ? floats(next) : s.sums;
        const dim3 grid{static_cast<unsigned>((s.columns + block_threads - 1) / block_threads),
                        static_cast<unsigned>(groups)};
        if (auto done = checked(
                launch(run.stream(), {grid}, sum_group_kernel, values, rows, s.columns, sums));
            !done || groups <= 1)
            return done;
        values = sums;
        rows = groups;
        kept = std::move(next);
    }
}

} // namespace troupe::cuda
