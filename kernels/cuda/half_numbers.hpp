// Factors of products, rounded.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/ops/precision.hpp"

namespace troupe::cuda {

// Puts into the stream: to[i] = from[i] as a factor of products of that precision, as float32.
cudaError_t round_factor(precision products, const float* from, float* to, std::size_t count,
                         cudaStream_t stream);

// Numbers in rows, of several matrices of one form.
struct rows_of_numbers {
    const float* first;
    std::size_t rows, columns;
    std::size_t stride;
    std::size_t matrices;
    std::size_t matrix_stride;
};

// One matrix of 16-bit numbers, in rows that begin at multiples of 16 bytes: `stride` is a multiple of `numbers_of_16_bytes`
// and no less than the numbers of a row. Behind the numbers of a row, up to the next multiple, are zeros.
inline constexpr std::size_t numbers_of_16_bytes = 8;
struct rounded_rows {
    std::uint16_t* first;
    std::size_t stride;
};

// Puts into the stream: `to` = the one matrix `from` rounded to bfloat16, as precision::bfloat16 says.
cudaError_t round_to_bf16(const rows_of_numbers& from, const rounded_rows& to, cudaStream_t stream);

// --- half precision, with the scale that precision::float16 gives a factor

// Scales of a product, on the device.
struct half_scales {
    std::uint32_t largest[2]; // the bits of the largest finite magnitude of each factor
    float factor, beta;       // what the sums are multiplied by, and what they are added to
};

// Puts into the stream: *largest = the bits of the largest finite magnitude, if it is above what *largest holds.
cudaError_t find_largest(const rows_of_numbers& of, std::uint32_t* largest, cudaStream_t stream);
// `to` = the one matrix `from` by the scale of a factor of the product, in half precision; denormal numbers of float32
// become 0. The largest of both factors must be known.
enum class factor_place : std::uint8_t { first, second };
cudaError_t scale_to_f16(const rows_of_numbers& from, factor_place place, const half_scales* scales,
                         const rounded_rows& to, cudaStream_t stream);
// scales->factor = factor without the two scales, scales->beta = beta.
cudaError_t take_back(half_scales* scales, float factor, float beta, cudaStream_t stream);

} // namespace troupe::cuda
