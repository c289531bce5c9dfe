// Numbers as products of a precision take them (kernels/ops/precision.hpp), for kernels that multiply float32.
#pragma once

#include "kernels/cuda/bf16.hpp"
#include "kernels/ops/precision.hpp"

namespace troupe::cuda {

// To 11 bits of significand, to nearest, ties to even; denormal numbers to 0; NaN stays NaN.
__device__ inline float rounded_to_11_bits(float x) {
    const std::uint32_t bits = __float_as_uint(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return x;
    if ((bits & 0x7f800000u) == 0)
        return __uint_as_float(bits & 0x80000000u);
    return __uint_as_float((bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu);
}

__device__ inline float factor(float x, precision products) {
    return products == precision::bfloat16  ? rounded_to_bf16(x)
           : products == precision::float16 ? rounded_to_11_bits(x)
                                            : x;
}

} // namespace troupe::cuda
