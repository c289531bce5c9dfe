#include "kernels/cuda/half_numbers.hpp"

#include <cmath>

#include "kernels/cuda/elements.hpp"
#include "kernels/cuda/f16.hpp"
#include "kernels/cuda/factors.hpp"
#include "kernels/cuda/indices.hpp"
#include "kernels/cuda/map.hpp"
#include "kernels/cuda/reductions.hpp"

namespace troupe::cuda {

namespace {

struct to_bf16 {
    __device__ std::uint16_t operator()(float x) const { return bf16_bits(x); }
};

struct to_factor {
    precision products;
    __device__ void operator()(const float (&from)[1], float (&to)[1]) const {
        to[0] = factor(from[0], products);
    }
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

template <class Index>
struct number_places {
    divisor<Index> of_matrix, columns;
    std::size_t stride, matrix_stride;
    __device__ std::size_t operator()(std::size_t i) const {
        const auto matrix = of_matrix.divide(static_cast<Index>(i));
        const auto row = columns.divide(matrix.remainder);
        return matrix.quotient * matrix_stride + row.quotient * stride + row.remainder;
    }
};
struct one_row {
    __device__ std::size_t operator()(std::size_t i) const { return i; }
};

template <class Places>
__global__ void largest_kernel(const float* first, std::size_t count, Places places,
                               std::uint32_t* largest) {
    std::uint32_t own = 0;
#pragma unroll 4
    for (std::size_t i = first_element(); i < count; i += element_step()) {
        const std::uint32_t size = __float_as_uint(first[places(i)]) & 0x7fffffffu;
        if (size < infinity_bits && size > own)
            own = size;
    }
    own = over_block(own, 0u, larger{});
    if (threadIdx.x == 0)
        atomicMax(largest, own);
}

// The scales of both factors as powers of two.
struct scale_powers {
    int of[2];
    __device__ int both() const { return of[0] + of[1]; }
};

// Each brings the largest number of its factor to 2^14 or above, below 2^15, so that it stays finite when it is rounded.
// What undoes both must be a normal float32, or cuBLAS may take it for 0 and leave out the product: where the powers are too
// much together, which products near the ends of float32's range need, each has half of that less.
__device__ inline scale_powers powers_of(const half_scales& scales) {
    constexpr int most = 126;
    scale_powers powers;
    for (int f = 0; f < 2; ++f) {
        const std::uint32_t largest = scales.largest[f];
        const int power = 14 - (static_cast<int>(largest >> 23) - 127);
        powers.of[f] = largest == 0 ? 0 : power > most ? most : power;
    }
    const int both = powers.both();
    const int excess = both > most ? both - most : both < -most ? both + most : 0;
    powers.of[0] -= excess / 2;
    powers.of[1] -= excess - excess / 2;
    return powers;
}

struct to_f16 {
    factor_place place;
    const half_scales* scales;
    __device__ std::uint16_t operator()(float x) const {
        const int power = powers_of(*scales).of[static_cast<int>(place)];
        const float scale = __uint_as_float(static_cast<std::uint32_t>(power + 127) << 23);
        const bool is_denormal = (__float_as_uint(x) & infinity_bits) == 0;
        return f16_bits(is_denormal ? 0 : __fmul_rn(x, scale));
    }
};

struct without_scales {
    half_scales* scales;
    float factor, beta;
    __device__ void operator()(std::size_t) const {
        scales->factor = scalbnf(factor, -powers_of(*scales).both());
        scales->beta = beta;
    }
};

// Rounds an element of a row, or one behind its end.
template <class Index, class Round>
struct rounded_element {
    rows_of_numbers from;
    rounded_rows to;
    Round round;
    divisor<Index> padded_columns;
    __device__ void operator()(std::size_t i) const {
        const auto at = padded_columns.divide(static_cast<Index>(i));
        const bool is_there = at.remainder < from.columns;
        to.first[at.quotient * to.stride + at.remainder] =
            round(is_there ? from.first[at.quotient * from.stride + at.remainder] : 0.f);
    }
};

// Rounds as many neighbours in a row as one access writes; behind the row's end they are zeros.
template <class Index, class Round>
struct rounded_group {
    rows_of_numbers from;
    rounded_rows to;
    Round round;
    divisor<Index> groups; // of a row
    __device__ void operator()(std::size_t i) const {
        constexpr unsigned size = numbers_of_16_bytes;
        const auto at = groups.divide(static_cast<Index>(i));
        const std::size_t first = std::size_t{size} * at.remainder;
        const auto x =
            load<size>(from.first + at.quotient * from.stride + first, from.columns - first);
        std::uint32_t pairs[size / 2];
#pragma unroll
        for (unsigned k = 0; k < size / 2; ++k)
            pairs[k] = round(x.at[2 * k]) | std::uint32_t{round(x.at[2 * k + 1])} << 16;
        *reinterpret_cast<uint4*>(to.first + at.quotient * to.stride + first) =
            make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
    }
};

// Rows that begin at odd addresses are read number by number, neighbouring threads reading neighbours.
template <class Round>
cudaError_t round_rows(const rows_of_numbers& from, const rounded_rows& to, const Round& round,
                       cudaStream_t stream) {
    constexpr std::size_t size = numbers_of_16_bytes, read_at_once = sizeof(float4) / sizeof(float);
    const std::size_t groups = (from.columns + size - 1) / size;
    const bool is_wide =
        has_wide_address(from.first) && (from.rows == 1 || from.stride % read_at_once == 0);
    const std::size_t of_row = is_wide ? groups : groups * size;
    const std::size_t pieces = from.rows * of_row;
    return with_index({pieces}, [&](auto index) {
        using index_type = decltype(index);
        if (is_wide)
            return launch_elements(
                stream, pieces,
                rounded_group<index_type, Round>{from, to, round, divisor<index_type>{of_row}});
        return launch_elements(
            stream, pieces,
            rounded_element<index_type, Round>{from, to, round, divisor<index_type>{of_row}});
    });
}

} // namespace

cudaError_t round_to_bf16(const rows_of_numbers& from, const rounded_rows& to,
                          cudaStream_t stream) {
    return round_rows(from, to, to_bf16{}, stream);
}

cudaError_t round_factor(precision products, const float* from, float* to, std::size_t count,
                         cudaStream_t stream) {
    return launch_map(stream, count, to_factor{products}, map_operands<1, 1>{{from}, {to}});
}

cudaError_t find_largest(const rows_of_numbers& of, std::uint32_t* largest, cudaStream_t stream) {
    constexpr std::size_t of_thread = 16;
    const rows_of_numbers n = joined(of);
    const std::size_t of_matrix = n.rows * n.columns, count = n.matrices * of_matrix;
    const launch_shape shape{blocks_for(count, block_threads * of_thread)};
    if (n.columns == count)
        return launch(stream, shape, largest_kernel<one_row>, n.first, count, one_row{}, largest);
    return with_index({count}, [&](auto index) {
        using index_type = decltype(index);
        const number_places<index_type> places{divisor<index_type>{of_matrix},
                                               divisor<index_type>{n.columns}, n.stride,
                                               n.matrix_stride};
        return launch(stream, shape, largest_kernel<number_places<index_type>>, n.first, count,
                      places, largest);
    });
}

cudaError_t scale_to_f16(const rows_of_numbers& from, factor_place place, const half_scales* scales,
                         const rounded_rows& to, cudaStream_t stream) {
    return round_rows(from, to, to_f16{place, scales}, stream);
}

cudaError_t take_back(half_scales* scales, float factor, float beta, cudaStream_t stream) {
    return launch_elements(stream, 1, without_scales{scales, factor, beta});
}

} // namespace troupe::cuda
