// Products of tiles of matrices, as attention needs them: how some rows score others, and what they get of them.
//
// A block of tile_threads computes a tile of tile_rows rows of scores of as many others. Thread (x, y) of tile_place has the
// rows y, y + 8, ... and of each the others x, x + 16, ...; of what is gotten, it has the columns of thread_column. Factors
// go through shared memory, some columns or rows at a time, so that their sizes do not matter.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace troupe::cuda {

inline constexpr unsigned tile_rows = 64;
inline constexpr unsigned tile_threads = 128;
inline constexpr unsigned tile_blocks =
    3; // of a multiprocessor, which leaves a thread 168 registers
inline constexpr unsigned threads_across = 16, threads_down = tile_threads / threads_across;
inline constexpr unsigned rows_of_thread = tile_rows / threads_down;
inline constexpr unsigned others_of_thread = tile_rows / threads_across;
inline constexpr unsigned tile_depth =
    32; // columns, or rows, of a factor that are in shared memory at a time

inline constexpr unsigned few_columns = 64, many_columns = 128; // that a block has sums of

template <unsigned columns>
inline constexpr unsigned columns_of_thread = columns / threads_across;

// A thread's share of a tile of scores, and of `columns` columns that the rows get.
using tile_scores = float[rows_of_thread][others_of_thread];
template <unsigned columns>
using tile_sums = float[rows_of_thread][columns_of_thread<columns>];

// Strides that keep the threads of a warp out of one another's banks.
inline constexpr unsigned factor_stride = tile_depth + 4;
inline constexpr unsigned score_stride = tile_rows + 16;

struct alignas(16) tile_memory {
    float factors[2 * tile_rows * factor_stride];
    float scores[tile_rows * score_stride];
};

// Some columns of consecutive rows in the GPU's memory.
template <class Float>
struct row_range {
    Float* values;
    std::size_t stride;
    std::size_t count;
};

struct tile_place {
    unsigned x = threadIdx.x % threads_across;
    unsigned y = threadIdx.x / threads_across;

    __device__ unsigned row(unsigned i) const { return y + threads_down * i; }
    __device__ unsigned other(unsigned j) const { return x + threads_across * j; }
    __device__ unsigned score(unsigned i, unsigned j) const {
        return row(i) * score_stride + other(j);
    }
};

// Four beside one another, then four of the next 64.
__device__ inline unsigned thread_column(unsigned k) {
    return k / 4 * 4 * threads_across + tile_place{}.x * 4 + k % 4;
}

// How many of the `most` from `first` on are below `count`.
__device__ inline unsigned there(std::size_t count, std::size_t first, unsigned most) {
    return count <= first ? 0 : count - first < most ? static_cast<unsigned>(count - first) : most;
}

// Copies `rows` rows from `first` on and `columns` columns from `first_column` on to shared memory; 0 where there are none.
template <unsigned rows, unsigned columns>
__device__ void load_tile(const row_range<const float>& from, std::size_t first,
                          std::size_t first_column, std::size_t width, float* to, unsigned stride) {
    constexpr unsigned rows_at_once = tile_threads / tile_depth;
    const unsigned lane = threadIdx.x % tile_depth;
    const unsigned above = threadIdx.x / tile_depth;
    const unsigned rows_there = there(from.count, first, rows);
    const unsigned columns_there = there(width, first_column, columns);
    const float* row = from.values + (first + above) * from.stride + first_column + lane;
#pragma unroll 4
    for (unsigned n = 0; n < rows / rows_at_once; ++n) {
        const unsigned r = above + n * rows_at_once;
#pragma unroll
        for (unsigned c = 0; c < columns; c += tile_depth)
            to[r * stride + c + lane] = r < rows_there && c + lane < columns_there ? row[c] : 0;
        row += rows_at_once * from.stride;
    }
}

// scores[i][j] = the product of row i from `a_first` on and row j from `b_first` on; of 0 for those that are not there.
__device__ inline void multiply_rows(const row_range<const float>& a, std::size_t a_first,
                                     const row_range<const float>& b, std::size_t b_first,
                                     std::size_t width, tile_memory& memory, tile_scores& scores) {
    const tile_place at;
    float* const left = memory.factors;
    float* const right = memory.factors + tile_rows * factor_stride;
#pragma unroll
    for (unsigned i = 0; i < rows_of_thread; ++i)
#pragma unroll
        for (unsigned j = 0; j < others_of_thread; ++j)
            scores[i][j] = 0;
    for (std::size_t first = 0; first < width; first += tile_depth) {
        __syncthreads(); // who still reads what was there
        load_tile<tile_rows, tile_depth>(a, a_first, first, width, left, factor_stride);
        load_tile<tile_rows, tile_depth>(b, b_first, first, width, right, factor_stride);
        __syncthreads();
        const unsigned depth = there(width, first, tile_depth);
        for (unsigned c = 0; c < depth; c += 4) { // zeros behind the last
            float4 others[others_of_thread];
#pragma unroll
            for (unsigned j = 0; j < others_of_thread; ++j)
                others[j] = *reinterpret_cast<float4*>(right + at.other(j) * factor_stride + c);
#pragma unroll
            for (unsigned i = 0; i < rows_of_thread; ++i) {
                const float4 row = *reinterpret_cast<float4*>(left + at.row(i) * factor_stride + c);
#pragma unroll
                for (unsigned j = 0; j < others_of_thread; ++j) {
                    scores[i][j] += row.x * others[j].x;
                    scores[i][j] += row.y * others[j].y;
                    scores[i][j] += row.z * others[j].z;
                    scores[i][j] += row.w * others[j].w;
                }
            }
        }
    }
}

// Into memory.scores, for add_product.
__device__ inline void store_scores(const tile_scores& scores, tile_memory& memory) {
    const tile_place at;
#pragma unroll
    for (unsigned i = 0; i < rows_of_thread; ++i)
#pragma unroll
        for (unsigned j = 0; j < others_of_thread; ++j)
            memory.scores[at.score(i, j)] = scores[i][j];
}

// sums[i][k] += over the others from `first` on that lie in memory.factors.
template <unsigned columns>
__device__ void add_factors(unsigned first, const tile_memory& memory, tile_sums<columns>& sums) {
    const tile_place at;
    for (unsigned r = 0; r < tile_depth; r += 4) {
        float others[4][columns_of_thread<columns>];
#pragma unroll
        for (unsigned n = 0; n < 4; ++n)
#pragma unroll
            for (unsigned k = 0; k < columns_of_thread<columns>; k += 4) {
                const float4 four = *reinterpret_cast<const float4*>(
                    memory.factors + (r + n) * columns + thread_column(k));
                others[n][k] = four.x;
                others[n][k + 1] = four.y;
                others[n][k + 2] = four.z;
                others[n][k + 3] = four.w;
            }
#pragma unroll
        for (unsigned i = 0; i < rows_of_thread; ++i) {
            const float4 row = *reinterpret_cast<const float4*>(
                memory.scores + at.row(i) * score_stride + first + r);
#pragma unroll
            for (unsigned k = 0; k < columns_of_thread<columns>; ++k) {
                sums[i][k] += row.x * others[0][k];
                sums[i][k] += row.y * others[1][k];
                sums[i][k] += row.z * others[2][k];
                sums[i][k] += row.w * others[3][k];
            }
        }
    }
}

// Which others of a tile count for its row i.
enum class counted { up_to_i, from_i };

// The same of those that count; the rest may be NaN, which 0 times it would be, too.
template <unsigned columns, counted others>
__device__ void add_counted(unsigned first, const tile_memory& memory, tile_sums<columns>& sums) {
    const tile_place at;
#pragma unroll 1
    for (unsigned r = 0; r < tile_depth; ++r)
#pragma unroll
        for (unsigned i = 0; i < rows_of_thread; ++i) {
            const unsigned row = at.row(i), other = first + r;
            if (others == counted::up_to_i ? other > row : other < row)
                continue;
            const float score = memory.scores[row * score_stride + other];
#pragma unroll
            for (unsigned k = 0; k < columns_of_thread<columns>; ++k)
                sums[i][k] += score * memory.factors[r * columns + thread_column(k)];
        }
}

// sums[i][k] += over j: memory.scores[i][j] * column k of row j of b from `b_first` on, or with `is_diagonal` over those j
// that `others` says. What this thread put into memory.scores before it others see here.
template <unsigned columns, counted others>
__device__ void add_product(const row_range<const float>& b, std::size_t b_first, bool is_diagonal,
                            std::size_t first_column, std::size_t width, tile_memory& memory,
                            tile_sums<columns>& sums) {
    static_assert(tile_depth * columns <= sizeof memory.factors / sizeof(float));
#pragma unroll 1
    for (unsigned first = 0; first < tile_rows; first += tile_depth) {
        __syncthreads();
        load_tile<tile_depth, columns>(b, b_first + first, first_column, width, memory.factors,
                                       columns);
        __syncthreads();
        if (is_diagonal)
            add_counted<columns, others>(first, memory, sums);
        else
            add_factors<columns>(first, memory, sums);
    }
}

template <unsigned columns>
__device__ void clear_sums(tile_sums<columns>& sums) {
#pragma unroll
    for (unsigned i = 0; i < rows_of_thread; ++i)
#pragma unroll
        for (unsigned k = 0; k < columns_of_thread<columns>; ++k)
            sums[i][k] = 0;
}

// Writes the sums of the rows from `first` on that there are, and of their columns from `first_column` on.
template <unsigned columns>
__device__ void store_sums(const tile_sums<columns>& sums, const row_range<float>& to,
                           std::size_t first, std::size_t first_column, std::size_t width) {
    const tile_place at;
    const unsigned rows_there = there(to.count, first, tile_rows);
    const unsigned columns_there = there(width, first_column, columns);
    float* const values = to.values + first * to.stride + first_column;
#pragma unroll
    for (unsigned i = 0; i < rows_of_thread; ++i)
#pragma unroll
        for (unsigned k = 0; k < columns_of_thread<columns>; ++k)
            if (at.row(i) < rows_there && thread_column(k) < columns_there)
                values[at.row(i) * to.stride + thread_column(k)] = sums[i][k];
}

} // namespace troupe::cuda
