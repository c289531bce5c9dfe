// Included first of all where Clang compiles fuzz targets: what the loops of kernels/cpu take from GCC and Clang has not.
// Nothing that is fuzzed computes.
#pragma once

#include <kj/string.h>

// Cap'n Proto 0.9 compares so, for which C++20 as Clang 16 has it needs this one declared.
namespace kj {
inline bool operator==(const char* a, StringPtr b) {
    return b.operator==(StringPtr(a));
}
} // namespace kj

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
