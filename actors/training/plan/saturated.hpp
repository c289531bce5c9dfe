// Sums and products of bytes that end at the greatest number instead of wrapping: a model may need more bytes in a plan
// than any machine holds.
#pragma once

#include <cstdint>

namespace troupe {

inline std::uint64_t saturated_sum(std::uint64_t a, std::uint64_t b) noexcept {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

inline std::uint64_t saturated_product(std::uint64_t a, std::uint64_t b) noexcept {
    return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

} // namespace troupe
