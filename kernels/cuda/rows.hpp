// Kernels that give every row of a matrix to a warp, or to a block where rows are wide.
//
//     template <class Threads> // warp_of_row or block_of_row
//     __global__ void kernel(std::size_t rows, ...) {
//         for (std::size_t row = Threads::first_row(); row < rows; row += Threads::row_step())
//             for (std::size_t c = Threads::index(); c < columns; c += Threads::count())
#pragma once

#include "kernels/cuda/elements.hpp"
#include "kernels/cuda/reductions.hpp"

namespace troupe::cuda {

inline constexpr unsigned warps_of_block = block_threads / warp_threads;

// Blocks are of block_threads.
struct warp_of_row {
    static __device__ std::size_t first_row() { return first_element() / warp_threads; }
    static __device__ std::size_t row_step() { return element_step() / warp_threads; }
    static __device__ unsigned index() { return threadIdx.x % warp_threads; }
    static __device__ unsigned count() { return warp_threads; }
    template <class T, class Combine = plus>
    static __device__ T together(T value, T = T{}, Combine combine = {}) {
        return over_warp(value, combine);
    }
};

struct block_of_row {
    static __device__ std::size_t first_row() { return blockIdx.x; }
    static __device__ std::size_t row_step() { return gridDim.x; }
    static __device__ unsigned index() { return threadIdx.x; }
    static __device__ unsigned count() { return blockDim.x; }
    template <class T, class Combine = plus>
    static __device__ T together(T value, T none = T{}, Combine combine = {}) {
        return over_block(value, none, combine);
    }
};

inline constexpr std::size_t warp_columns_max = 1024; // that a warp does
inline constexpr unsigned wide_row_threads = 512;

// Puts in the stream `by_warp` or `by_block`, which are instances of one kernel.
template <class... Parameters, class... Arguments>
cudaError_t launch_rows(cudaStream_t stream, std::size_t rows, std::size_t columns,
                        void (*by_warp)(Parameters...), void (*by_block)(Parameters...),
                        const Arguments&... arguments) {
    return columns <= warp_columns_max
               ? launch(stream, {blocks_for(rows, warps_of_block)}, by_warp, arguments...)
               : launch(stream, {blocks_for(rows, 1), wide_row_threads}, by_block, arguments...);
}

} // namespace troupe::cuda
