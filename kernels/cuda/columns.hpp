// Biases: added to all rows of a matrix; their gradients, sums down its columns.
#pragma once

#include "kernels/cuda/execution.hpp"

namespace troupe::cuda {

// Rows in groups, which are summed by a row of blocks each (blockIdx.y), every thread a column.
struct row_groups {
    std::size_t rows; // of a group
    std::size_t count;

    explicit row_groups(std::size_t all);
    dim3 grid(std::size_t columns) const; // of block_threads
};

// sums[c] = sum over r of values[r * columns + c].
struct row_sum {
    const float* values;
    std::size_t rows, columns;
    float* sums;
};

// Puts it into the stream. Groups of rows are summed first, then the groups, each in order.
result<void> sum_rows(const row_sum& s, execution& run);

// Puts into the stream: every row of `rows` rows of `columns` elements, `stride` apart, becomes itself + bias.
struct row_bias {
    const float* bias;
    std::size_t rows, columns, stride;
    float* values;
};
cudaError_t add_to_rows(const row_bias& b, cudaStream_t stream);

} // namespace troupe::cuda
