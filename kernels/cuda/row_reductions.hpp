// Reductions of each row of a matrix, as a norm is one: sums and extremes whose order depends on the sizes only.
//
// A warp takes a row or, where few rows are wide, a part of one; then a warp takes what the parts of a row came to.
#pragma once

#include <algorithm>

#include "kernels/cuda/elements.hpp"
#include "kernels/cuda/execution.hpp"
#include "kernels/cuda/reductions.hpp"

namespace troupe::cuda {

struct row_sizes {
    std::size_t rows;
    std::size_t columns;
    std::size_t last_columns; // of the last row, which may be shorter
};

// How a row is cut.
struct row_parts {
    std::size_t count;
    std::size_t columns; // but perhaps of the last

    static row_parts of(const row_sizes& m) {
        constexpr std::size_t columns_least = 1024, warps_wanted = 1u << 14; // about as many as run
        const std::size_t useful = (m.columns + columns_least - 1) / columns_least;
        const std::size_t wanted = std::max(
            std::size_t{1}, std::min(useful, warps_wanted / std::max<std::size_t>(1, m.rows)));
        const std::size_t each = (m.columns + wanted - 1) / wanted;
        const std::size_t columns =
            std::max<std::size_t>(1, (each + warp_threads - 1) / warp_threads * warp_threads);
        return {std::max<std::size_t>(1, (m.columns + columns - 1) / columns), columns};
    }
};

// Finishes rows that are in one part and leaves the others in `partial`.
template <class T, class Value, class Combine, class Finish>
__global__ void reduce_parts_kernel(row_sizes m, row_parts parts, T none, Value value,
                                    Combine combine, Finish finish, T* partial) {
    const unsigned lane = threadIdx.x % warp_threads;
    for (std::size_t part = first_element() / warp_threads; part < m.rows * parts.count;
         part += element_step() / warp_threads) {
        const std::size_t row = part / parts.count;
        const std::size_t first = (part - row * parts.count) * parts.columns;
        const std::size_t columns = row + 1 < m.rows ? m.columns : m.last_columns;
        const std::size_t end = first + parts.columns < columns ? first + parts.columns : columns;
        T all = none;
#pragma unroll 4
        for (std::size_t c = first + lane; c < end; c += warp_threads)
            all = combine(all, value(row, c));
        all = over_warp(all, combine);
        if (lane != 0)
            continue;
        if (parts.count == 1)
            finish(row, all);
        else
            partial[part] = all;
    }
}

template <class T, class Combine, class Finish>
__global__ void reduce_rows_kernel(std::size_t rows, std::size_t parts, T none, Combine combine,
                                   Finish finish, const T* partial) {
    const unsigned lane = threadIdx.x % warp_threads;
    for (std::size_t row = first_element() / warp_threads; row < rows;
         row += element_step() / warp_threads) {
        T all = none;
#pragma unroll 4
        for (std::size_t part = lane; part < parts; part += warp_threads)
            all = combine(all, partial[row * parts + part]);
        all = over_warp(all, combine);
        if (lane == 0)
            finish(row, all);
    }
}

// Puts in the stream, for each row: finish(row, value(row, 0) and value(row, 1) and ... put together by `combine`, which
// `none` does not change). The three are functions of device code. Errors name `operands` and the caller's line.
template <class T, class Value, class Combine, class Finish>
result<void> reduce_rows(execution& run, const row_sizes& m, T none, const Value& value,
                         const Combine& combine, const Finish& finish,
                         std::initializer_list<const tensor*> operands,
                         std::source_location where = std::source_location::current()) {
    const row_parts parts = row_parts::of(m);
    constexpr std::size_t warps_of_block = block_threads / warp_threads;
    buffer_ref partial;
    if (parts.count > 1) {
        auto made = run.scratch(m.rows * parts.count * sizeof(T));
        if (!made)
            return made.failure();
        partial = std::move(*made);
    }
    T* const at = partial ? reinterpret_cast<T*>(partial->data()) : nullptr;
    const auto cut = launch(run.stream(), {blocks_for(m.rows * parts.count, warps_of_block)},
                            reduce_parts_kernel<T, Value, Combine, Finish>, m, parts, none, value,
                            combine, finish, at);
    if (cut != cudaSuccess || parts.count == 1)
        return checked(cut, operands, where);
    return checked(launch(run.stream(), {blocks_for(m.rows, warps_of_block)},
                          reduce_rows_kernel<T, Combine, Finish>, m.rows, parts.count, none,
                          combine, finish, at),
                   operands, where);
}

template <class T>
struct kept_total {
    T* at;
    __device__ void operator()(std::size_t, const T& total) const { *at = total; }
};

// value(0, 0) and value(0, 1) and ... value(0, count - 1) put together, for the host. Waits.
template <class T, class Value, class Combine>
result<T> reduced(execution& run, std::size_t count, T none, const Value& value,
                  const Combine& combine, std::initializer_list<const tensor*> operands,
                  std::source_location where = std::source_location::current()) {
    auto total = run.scratch(sizeof(T));
    if (!total)
        return total.failure();
    T* const at = reinterpret_cast<T*>((*total)->data());
    if (auto done = reduce_rows(run, {1, count, count}, none, value, combine, kept_total<T>{at},
                                operands, where);
        !done)
        return done.failure();
    return run.read(at);
}

} // namespace troupe::cuda
