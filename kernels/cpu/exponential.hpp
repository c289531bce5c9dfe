// The exponential of the loops that are compiled once per instruction set. Static, so that none calls another's; see
// loops.cpp.
#pragma once

namespace troupe::cpu {

// Whole numbers, as many as floats.
template <class Float>
struct whole_numbers {
    using type = decltype(Float{} < Float{});
};
template <>
struct whole_numbers<float> {
    using type = int;
};

// e^x of a float or a vector in [-87, 88], with a relative error below 3e-7; NaN stays. The polynomial was fitted by least
// squares in Chebyshev points, weighted for the relative error.
template <class Float>
static inline Float exponential_in_range(Float x) {
    using whole_number = typename whole_numbers<Float>::type;
    // x = n ln 2 + r. Adding 1.5 * 2^23 rounds to the nearest whole number, which then stands in the lowest bits.
    constexpr float whole = 12582912.f;
    constexpr int whole_bits = 0x4b400000;
    const Float shifted = x * 1.44269504f + whole;
    const Float n = shifted - whole;
    const Float r =
        (x - n * 0.693359375f) + n * 2.12194440e-4f; // ln 2 in two parts, the first exact
    const Float p =
        ((((1.375140790e-3f * r + 8.368916341e-3f) * r + 4.166953311e-2f) * r + 0.1666651846f) * r +
         0.4999998860f) *
            r * r +
        r + 1.f;
    const whole_number exponent = __builtin_bit_cast(whole_number, shifted) - whole_bits + 127;
    return p * __builtin_bit_cast(Float, exponent << 23);
}

// Outside, that of the nearer end.
static inline float exponential(float x) {
    x = x > 88.f ? 88.f : x;
    x = x < -87.f ? -87.f : x;
    return exponential_in_range(x);
}

} // namespace troupe::cpu
