// Included first of all where Clang compiles fuzz targets: what the loops of kernels/cpu take from GCC and Clang has not.
// Nothing that is fuzzed computes.
#pragma once

namespace {

template <class Vector, class Indices>
[[maybe_unused]] Vector __builtin_shuffle(Vector x, Indices from) {
    constexpr int count = sizeof(Vector) / sizeof(x[0]);
    Vector y = x;
    for (int i = 0; i < count; ++i)
        y[i] = x[static_cast<int>(from[i]) % count];
    return y;
}

template <class Vector, class Indices>
[[maybe_unused]] Vector __builtin_shuffle(Vector x, Vector behind, Indices from) {
    constexpr int count = sizeof(Vector) / sizeof(x[0]);
    Vector y = x;
    for (int i = 0; i < count; ++i) {
        const int at = static_cast<int>(from[i]) % (2 * count);
        y[i] = at < count ? x[at] : behind[at - count];
    }
    return y;
}

} // namespace
