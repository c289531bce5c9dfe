// Numbers rounded to bfloat16 in kernels, as precision::bfloat16 says.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace troupe::cuda {

// To nearest, ties to even; denormal numbers to 0; NaN stays NaN.
__device__ inline std::uint16_t bf16_bits(float x) {
    const std::uint32_t bits = __float_as_uint(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
    if ((bits & 0x7f800000u) == 0)
        return static_cast<std::uint16_t>(bits >> 31 << 15);
    return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

__device__ inline float rounded_to_bf16(float x) {
    return __uint_as_float(std::uint32_t{bf16_bits(x)} << 16);
}

} // namespace troupe::cuda
