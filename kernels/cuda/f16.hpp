// Numbers in IEEE's half precision: exponents from -14 to 15, 11 bits of significand; below 2^-14 multiples of 2^-24.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace troupe::cuda {

// To nearest, ties to even; infinite beyond 65504.
__device__ inline std::uint16_t f16_bits(float x) {
    constexpr std::uint32_t infinity_bits = 0x7f800000, sign_bit = 0x80000000;
    constexpr std::uint32_t too_large = 143u << 23, smallest = 113u << 23;
    // 2^-1 has in its last bit what f16's smallest step is worth: adding it rounds to that step.
    constexpr std::uint32_t half = 126u << 23;
    const std::uint32_t bits = __float_as_uint(x), size = bits & ~sign_bit;
    std::uint32_t rounded;
    if (size >= too_large)
        rounded = size > infinity_bits ? 0x7e00 : 0x7c00;
    else if (size < smallest)
        rounded = __float_as_uint(__fadd_rn(__uint_as_float(size), __uint_as_float(half))) - half;
    else
        rounded = (size - (112u << 23) + 0xfff + (size >> 13 & 1)) >> 13;
    return static_cast<std::uint16_t>((bits & sign_bit) >> 16 | rounded);
}

__device__ inline float from_f16(std::uint16_t bits) {
    constexpr std::uint32_t exponents = 31u << 23;
    const std::uint32_t size = (bits & 0x7fffu) << 13;
    std::uint32_t value = size + (112u << 23);
    if ((size & exponents) == exponents)
        value += 112u << 23;
    else if ((size & exponents) == 0)
        value = __float_as_uint(
            __fadd_rn(__uint_as_float(size + (113u << 23)), -__uint_as_float(113u << 23)));
    return __uint_as_float(value | (bits & 0x8000u) << 16);
}

} // namespace troupe::cuda
