// The logistic function and the hyperbolic tangent of the loops that are compiled once per instruction set. Static, so that
// none calls another's; see loops.cpp.
#pragma once

#include "kernels/cpu/exponential.hpp"

namespace troupe::cpu {

// 1 / (1 + e^-x)
static inline float logistic(float x) {
    return 1.f / (1.f + exponential(-x));
}

// The polynomial was fitted by least squares in Chebyshev points, weighted for the relative error.
static inline float tangent(float x) {
    const float z = x * x;
    const float near =
        ((((-6.104948398e-3f * z + 2.100364156e-2f) * z - 5.385249757e-2f) * z + 0.1333278227f) *
             z -
         0.333333291f) *
            z * x +
        x;
    const float far = 1.f - 2.f / (exponential(2.f * x) + 1.f);
    return z < 0.390625f ? near : far;
}

} // namespace troupe::cpu
