#include "kernels/cuda/columns.hpp"

#include <algorithm>

#include "kernels/cuda/elements.hpp"

namespace troupe::cuda {

namespace {

constexpr std::size_t rows_of_group = 64;
constexpr std::size_t groups_max = 65535; // rows of blocks that a grid can have

// Threads beside one another read beside one another.
__global__ void sum_group_kernel(const float* values, std::size_t rows, std::size_t columns,
                                 std::size_t rows_of_group, float* sums) {
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

struct biased {
    row_bias b;
    __device__ void operator()(std::size_t i) const {
        const std::size_t row = i / b.columns, column = i - row * b.columns;
        b.values[row * b.stride + column] += b.bias[column];
    }
};

} // namespace

cudaError_t add_to_rows(const row_bias& b, cudaStream_t stream) {
    return launch_elements(stream, b.rows * b.columns, biased{b});
}

row_groups::row_groups(std::size_t all)
    : rows{std::max(rows_of_group, (all + groups_max - 1) / groups_max)}, count{(all + rows - 1) /
                                                                                rows} {}

dim3 row_groups::grid(std::size_t columns) const {
    return {static_cast<unsigned>((columns + block_threads - 1) / block_threads),
            static_cast<unsigned>(count)};
}

result<void> sum_rows(const row_sum& s, execution& run) {
    const float* values = s.values;
    std::size_t rows = s.rows;
    buffer_ref kept;
    for (;;) {
        const row_groups groups{rows};
        buffer_ref next;
        if (groups.count > 1) {
            auto made = run.scratch(groups.count * s.columns * sizeof(float));
            if (!made)
                return made.failure();
            next = std::move(*made);
        }
        float* const sums = groups.count > 1 ? floats(next) : s.sums;
        if (auto done = checked(launch(run.stream(), {groups.grid(s.columns)}, sum_group_kernel,
                                       values, rows, s.columns, groups.rows, sums));
            !done || groups.count <= 1)
            return done;
        values = sums;
        rows = groups.count;
        kept = std::move(next);
    }
}

} // namespace troupe::cuda
