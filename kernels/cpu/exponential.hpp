// The exponential of the loops that are compiled once per instruction set. Static, so that none calls another's; see
// loops.cpp.
#pragma once

namespace troupe::cpu {

// e^x with a relative error below 3e-7, for x in [-87, 88], the nearer end outside; NaN stays. The polynomial was fitted by
// least squares in Chebyshev points, weighted for the relative error.
static inline float exponential(float x) {
    x = x > 88.f ? 88.f : x;
    x = x < -87.f ? -87.f : x;
    // x = n ln 2 + r. Adding 1.5 * 2^23 rounds to the nearest whole number, which then stands in the lowest bits.
    constexpr float whole = 12582912.f;
    constexpr int whole_bits = 0x4b400000;
    const float shifted = x * 1.44269504f + whole;
    const float n = shifted - whole;
    const float r =
        (x - n * 0.693359375f) + n * 2.12194440e-4f; // ln 2 in two parts, the first exact
    const float p =
        ((((1.375140790e-3f * r + 8.368916341e-3f) * r + 4.166953311e-2f) * r + 0.1666651846f) * r +
         0.4999998860f) *
            r * r +
        r + 1.f;
    const int exponent = __builtin_bit_cast(int, shifted) - whole_bits + 127;
    return p * __builtin_bit_cast(float, exponent << 23);
}

} // namespace troupe::cpu
