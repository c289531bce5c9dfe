#include "kernels/cuda/half_numbers.hpp"

#include <cmath>

#include "kernels/cuda/elements.hpp"
#include "kernels/cuda/f16.hpp"
#include "kernels/cuda/factors.hpp"
#include "kernels/cuda/reductions.hpp"

namespace troupe::cuda {

namespace {

struct to_bf16 {
    const float* from;
    std::uint16_t* to;
    __device__ void operator()(std::size_t i) const { to[i] = bf16_bits(from[i]); }
};

struct to_factor {
    precision products;
    const float* from;
    float* to;
    __device__ void operator()(std::size_t i) const { to[i] = factor(from[i], products); }
};

constexpr std::uint32_t infinity_bits = 0x7f800000;

// Numbers without anything between them are one row.
rows_of_numbers joined(rows_of_numbers n) {
    const bool rows_touch = n.rows == 1 || n.stride == n.columns;
    const bool matrices_touch = n.matrices == 1 || n.matrix_stride == n.rows * n.columns;
    if (!rows_touch || !matrices_touch)
        return n;
    const std::size_t all = n.matrices * n.rows * n.columns;
    return {n.first, 1, all, all, 1, all};
}

__global__ void largest_kernel(rows_of_numbers of, std::uint32_t* largest) {
    const std::size_t of_matrix = of.rows * of.columns, count = of.matrices * of_matrix;
    const bool is_one_row = count == of.columns;
    std::uint32_t own = 0;
#pragma unroll 4
    for (std::size_t i = first_element(); i < count; i += element_step()) {
        const std::size_t at = is_one_row
                                   ? i
                                   : i / of_matrix * of.matrix_stride +
                                         i % of_matrix / of.columns * of.stride + i % of.columns;
        const std::uint32_t size = __float_as_uint(of.first[at]) & 0x7fffffffu;
        if (size < infinity_bits && size > own)
            own = size;
    }
    own = over_block(own, 0u, larger{});
    if (threadIdx.x == 0)
        atomicMax(largest, own);
}

// The power of two that brings such a number to 2^14 or above, below 2^15, so that it stays finite when it is rounded. Of
// numbers too small or too large for it, the closest whose inverse and whose products with what they scale are float32.
__device__ int scale_of(std::uint32_t largest) {
    const int power = 14 - (static_cast<int>(largest >> 23) - 127);
    return power < -48 ? -48 : power > 126 ? 126 : power;
}

struct to_f16 {
    const float* from;
    const std::uint32_t* largest;
    std::uint16_t* to;
    __device__ void operator()(std::size_t i) const {
        const auto scale = static_cast<std::uint32_t>(scale_of(*largest) + 127);
        to[i] = f16_bits(__fmul_rn(from[i], __uint_as_float(scale << 23)));
    }
};

struct without_scales {
    half_scales* scales;
    float factor, beta;
    __device__ void operator()(std::size_t) const {
        const int both = scale_of(scales->largest[0]) + scale_of(scales->largest[1]);
        scales->factor = scalbnf(factor, -both);
        scales->beta = beta;
    }
};

} // namespace

cudaError_t round_to_bf16(const float* from, std::uint16_t* to, std::size_t count,
                          cudaStream_t stream) {
    return launch_elements(stream, count, to_bf16{from, to});
}

cudaError_t round_factor(precision products, const float* from, float* to, std::size_t count,
                         cudaStream_t stream) {
    return launch_elements(stream, count, to_factor{products, from, to});
}

cudaError_t find_largest(const rows_of_numbers& of, std::uint32_t* largest, cudaStream_t stream) {
    constexpr std::size_t of_thread = 16;
    const std::size_t count = of.matrices * of.rows * of.columns;
    return launch(stream, {blocks_for(count, block_threads * of_thread)}, largest_kernel,
                  joined(of), largest);
}

cudaError_t scale_to_f16(const float* from, const std::uint32_t* largest, std::uint16_t* to,
                         std::size_t count, cudaStream_t stream) {
    return launch_elements(stream, count, to_f16{from, largest, to});
}

cudaError_t take_back(half_scales* scales, float factor, float beta, cudaStream_t stream) {
    return launch_elements(stream, 1, without_scales{scales, factor, beta});
}

} // namespace troupe::cuda
