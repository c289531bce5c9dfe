// Products of tiles by tensor cores, as attention needs them: bfloat16 factors, sums in float32.
//
// A block has core_warps warps, each with a strip of 16 rows of scores. It scores `others` others at a time, whose factors
// lie in shared memory; the factors of its rows stay in registers, and so do the sums of what the rows get. What is in
// between goes through the warp's strip in shared memory, because CUDA does not say which thread has which element of a
// fragment: a lane looks after the elements of strip_lane.
#pragma once

#include <mma.h>

#include "kernels/cuda/reductions.hpp"

namespace troupe::cuda {

inline constexpr unsigned core_side = 16, core_warps = 4, core_threads = core_warps * warp_threads;
inline constexpr unsigned core_rows = core_warps * core_side; // of a block

namespace wmma = nvcuda::wmma;
using core_left = wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major>;
using core_right = wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major>;
using core_transposed = wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major>;
using core_sums = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

// Tiles of heads up to `columns` wide; so many others that static shared memory holds it all.
template <unsigned columns>
struct core_shape {
    static constexpr unsigned others = columns <= 64 ? 64 : 32;
    static constexpr unsigned steps = columns / core_side;      // along a row of factors
    static constexpr unsigned other_steps = others / core_side; // along a row of scores
    static constexpr unsigned lane_scores = others * core_side / warp_threads;
    // Strides that keep the threads of a warp out of one another's banks.
    static constexpr unsigned factor_stride = columns + 8, score_stride = others + 8;
};

template <unsigned columns>
struct alignas(32) core_memory {
    using shape = core_shape<columns>;
    __nv_bfloat16 factors[2][shape::others * shape::factor_stride];
    float scores[core_rows * shape::score_stride];
    __nv_bfloat16 shares[core_rows * shape::score_stride];

    // A warp's.
    __device__ float* strip() {
        return scores + threadIdx.x / warp_threads * core_side * shape::score_stride;
    }
    __device__ __nv_bfloat16* strip_shares() {
        return shares + threadIdx.x / warp_threads * core_side * shape::score_stride;
    }
};

// Two lanes share a row, four columns each in turns.
struct strip_lane {
    unsigned row = threadIdx.x % warp_threads / 2;
    unsigned half = threadIdx.x % 2;

    // The column of its element i.
    __device__ unsigned column(unsigned i) const { return half * 4 + i / 4 * 8 + i % 4; }
};

// Over the lanes that share a row.
template <class Combine>
__device__ float over_strip_row(float x, Combine combine) {
    return combine(x, __shfl_xor_sync(0xffffffffu, x, 1));
}

// Rows of bfloat16 numbers without anything between them; `width` is a multiple of core_side.
struct packed_rows {
    const __nv_bfloat16* first;
    unsigned width;

    __device__ packed_rows from(std::size_t row) const { return {first + row * width, width}; }
};

template <unsigned columns>
using strip_factors = core_left[core_shape<columns>::steps];
template <unsigned columns>
using strip_sums = core_sums[core_shape<columns>::steps];

// The warp's rows of a block's.
__device__ inline std::size_t strip_row() {
    return threadIdx.x / warp_threads * core_side;
}

template <unsigned columns>
__device__ void load_strip(const packed_rows& block, strip_factors<columns>& factors) {
    const packed_rows rows = block.from(strip_row());
#pragma unroll
    for (unsigned k = 0; k < core_shape<columns>::steps; ++k)
        if (k * core_side < rows.width)
            wmma::load_matrix_sync(factors[k], rows.first + k * core_side, rows.width);
}

// The next `others` rows, by all threads of the block.
template <unsigned columns>
__device__ void load_others(const packed_rows& from, __nv_bfloat16* to) {
    using shape = core_shape<columns>;
    constexpr unsigned numbers = sizeof(uint4) / sizeof(__nv_bfloat16), parts = columns / numbers;
#pragma unroll
    for (unsigned n = 0; n < shape::others * parts / core_threads; ++n) {
        const unsigned i = threadIdx.x + n * core_threads;
        const unsigned row = i / parts, column = i % parts * numbers;
        if (column < from.width)
            *reinterpret_cast<uint4*>(to + row * shape::factor_stride + column) =
                *reinterpret_cast<const uint4*>(from.first + row * from.width + column);
    }
}

template <unsigned columns>
__device__ void clear(strip_sums<columns>& sums) {
#pragma unroll
    for (core_sums& some : sums)
        wmma::fill_fragment(some, 0.f);
}

// The products of the strip's rows with those from 16 * step on of `others`.
template <unsigned columns>
__device__ core_sums product_with(const strip_factors<columns>& factors,
                                  const __nv_bfloat16* others, unsigned step, unsigned width) {
    using shape = core_shape<columns>;
    core_sums sums;
    wmma::fill_fragment(sums, 0.f);
#pragma unroll
    for (unsigned k = 0; k < shape::steps; ++k)
        if (k * core_side < width) {
            core_transposed other;
            wmma::load_matrix_sync(other,
                                   others + step * core_side * shape::factor_stride + k * core_side,
                                   shape::factor_stride);
            wmma::mma_sync(sums, factors[k], other, sums);
        }
    return sums;
}

// sums += the strip's shares times the rows of `others`.
template <unsigned columns>
__device__ void add_shares(const __nv_bfloat16* shares, const __nv_bfloat16* others, unsigned width,
                           strip_sums<columns>& sums) {
    using shape = core_shape<columns>;
#pragma unroll 1
    for (unsigned j = 0; j < shape::other_steps; ++j) {
        core_left share;
        wmma::load_matrix_sync(share, shares + j * core_side, shape::score_stride);
#pragma unroll
        for (unsigned k = 0; k < shape::steps; ++k)
            if (k * core_side < width) {
                core_right other;
                wmma::load_matrix_sync(
                    other, others + j * core_side * shape::factor_stride + k * core_side,
                    shape::factor_stride);
                wmma::mma_sync(sums[k], share, other, sums[k]);
            }
    }
}

template <unsigned columns>
__device__ void store_scores(const core_sums& scores, unsigned step, float* strip) {
    wmma::store_matrix_sync(strip + step * core_side, scores, core_shape<columns>::score_stride,
                            wmma::mem_row_major);
}

template <unsigned columns>
using lane_scores = float[core_shape<columns>::lane_scores];

template <unsigned columns>
__device__ void read_scores(const float* strip, lane_scores<columns>& scores) {
    using shape = core_shape<columns>;
    const strip_lane at;
#pragma unroll
    for (unsigned i = 0; i < shape::lane_scores; i += 4) {
        const float4 four =
            *reinterpret_cast<const float4*>(strip + at.row * shape::score_stride + at.column(i));
        scores[i] = four.x;
        scores[i + 1] = four.y;
        scores[i + 2] = four.z;
        scores[i + 3] = four.w;
    }
}

// Rounds them.
template <unsigned columns>
__device__ void write_shares(const lane_scores<columns>& scores, __nv_bfloat16* shares) {
    using shape = core_shape<columns>;
    const strip_lane at;
#pragma unroll
    for (unsigned i = 0; i < shape::lane_scores; i += 2)
        *reinterpret_cast<__nv_bfloat162*>(shares + at.row * shape::score_stride + at.column(i)) =
            __floats2bfloat162_rn(scores[i], scores[i + 1]);
}

// A fragment whose rows are full of what the row's lanes have: fragments of one type have the same elements in the same
// places. Goes through the strip.
template <unsigned columns>
__device__ core_sums over_columns(float of_row, float* strip) {
    using shape = core_shape<columns>;
    const strip_lane at;
    __syncwarp();
    float* const to = strip + at.row * shape::score_stride + at.half * core_side / 2;
#pragma unroll
    for (unsigned c = 0; c < core_side / 2; c += 4)
        *reinterpret_cast<float4*>(to + c) = make_float4(of_row, of_row, of_row, of_row);
    __syncwarp();
    core_sums all;
    wmma::load_matrix_sync(all, strip, shape::score_stride, wmma::mem_row_major);
    __syncwarp();
    return all;
}

// Some rows of float32 in the GPU's memory.
struct strip_output {
    float* first;
    std::size_t stride;
    unsigned rows;  // that there are of the strip's
    unsigned width; // that there are of the columns
};

// Each row times what its lanes have as `factor`.
template <unsigned columns>
__device__ void store_strip(const strip_sums<columns>& sums, float factor, const strip_output& to,
                            float* strip) {
    using shape = core_shape<columns>;
    const unsigned lane = threadIdx.x % warp_threads;
#pragma unroll
    for (unsigned first = 0; first < columns; first += shape::others) {
        __syncwarp();
#pragma unroll
        for (unsigned k = 0; k < shape::other_steps; ++k)
            if (first + k * core_side < to.width)
                store_scores<columns>(sums[first / core_side + k], k, strip);
        __syncwarp();
#pragma unroll 4
        for (unsigned row = 0; row < core_side; ++row) {
            const float of_row = __shfl_sync(0xffffffffu, factor, static_cast<int>(2 * row));
#pragma unroll
            for (unsigned c = lane; c < shape::others; c += warp_threads)
                if (row < to.rows && first + c < to.width)
                    to.first[row * to.stride + first + c] =
                        of_row * strip[row * shape::score_stride + c];
        }
    }
}

} // namespace troupe::cuda
