// bfloat16 on the emulated GPU, of what kernels/cuda uses.
#pragma once

#include <cmath>

#include "tests/emulated_cuda/cuda_runtime.h"

struct __nv_bfloat16 {
    std::uint16_t bits;
};
struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};

// To nearest, ties to even.
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
    const unsigned bits = __float_as_uint(x);
    if (std::isnan(x))
        return {0x7fff};
    return {static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
    return {__float2bfloat16_rn(x), __float2bfloat16_rn(y)};
}
inline float __bfloat162float(__nv_bfloat16 x) {
    return __uint_as_float(unsigned{x.bits} << 16);
}
