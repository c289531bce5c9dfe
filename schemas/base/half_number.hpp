// 16-bit floating-point numbers in files, as float32, which has all of them exactly. Pure.
#pragma once

#include <bit>
#include <cstdint>

namespace troupe {

// The number of IEEE 754's binary16: a sign, 5 bits of exponent, 10 of fraction.
inline float from_half(std::uint16_t bits) noexcept {
    const std::uint32_t sign = (bits & 0x8000u) << 16;
    const std::uint32_t exponent = bits >> 10 & 0x1fu;
    const std::uint32_t fraction = bits & 0x3ffu;
    if (exponent == 0) { // 0 or subnormal
        const float size = static_cast<float>(fraction) * 0x1p-24f;
        return sign == 0 ? size : -size;
    }
    const std::uint32_t wide = exponent == 0x1f ? 0xff : exponent + 127 - 15;
    return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

// The number of bfloat16, the upper half of a float32.
inline float from_bfloat(std::uint16_t bits) noexcept {
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

} // namespace troupe
