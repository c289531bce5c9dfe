// The common part of both directions of attention_loops.hpp. All functions have internal linkage; see registers.hpp.
#pragma once

#include "kernels/cpu/attention_loops.hpp"
#include "kernels/cpu/exponential.hpp"
#include "kernels/cpu/packed_products.hpp"

namespace troupe::cpu {

namespace {

// Queries at a time.
constexpr std::size_t query_block = 64;
static_assert(query_block % panel == 0);

// Takes what it is asked for from one piece of memory, at multiples of 64 bytes; with none it only counts.
struct workspace_parts {
    float* first;
    std::size_t taken = 0;

    float* take(std::size_t floats) {
        float* const part = first == nullptr ? nullptr : first + taken;
        taken += rounded_up(floats, 16);
        return part;
    }
};

// The keys from `key` on that a query sees, at most `keys`.
inline std::size_t visible_keys(const attention_head& head, std::size_t query, std::size_t key,
                                std::size_t keys) {
    return head.causal ? least(keys, query + 1 - key) : keys;
}

inline float inverse_root(std::size_t width) {
    return 1.f / __builtin_sqrtf(static_cast<float>(width));
}

// Rows of a head lie in one page of memory each, so that no processor foresees which are read next: those of the next head
// are fetched while one is computed. Heads of more rows than these would fill the cache.
constexpr std::size_t fetched_rows_max = 512;

// The rows from `first` on, at most `some`, out of `count`.
template <class Rows>
inline void fetch(const Rows& rows, std::size_t width, std::size_t count, std::size_t first,
                  std::size_t some) {
    constexpr std::size_t line = 64 / sizeof(float);
    const std::size_t end = least(count, first + some);
    for (std::size_t row = first; row < end; ++row)
        for (std::size_t c = 0; c < width; c += line)
            __builtin_prefetch(rows.first + row * rows.stride + c, 0, 2);
    asm volatile(""); // GCC leaves out calls of functions that do nothing but prefetch
}

// e^x of a float or a vector in [-86, 0], with an absolute error below 2e-7; NaN stays. The polynomial is of 2^r and was
// fitted as that of exponential.hpp.
template <class Float>
inline Float power_in_range(Float x) {
    using whole_number = typename whole_numbers<Float>::type;
    // Rounds to the nearest whole number, which then stands in the lowest bits with an exponent's bias of 127.
    constexpr float whole = 12582912.f + 127.f, log2_e = 1.44269504f;
    const Float shifted = x * log2_e + whole;
    const Float r = x * log2_e - (shifted - whole);
    const Float p =
        ((((1.321856282e-3f * r + 9.671751410e-3f) * r + 5.550893769e-2f) * r + 0.2402223647f) * r +
         0.6931468844f) *
            r +
        1.f;
    return p * __builtin_bit_cast(Float, __builtin_bit_cast(whole_number, shifted) << 23);
}
// Powers for exponents up to 0.
inline vec power(vec x) {
    return power_in_range(larger(vec{} - 86.f, x));
}
inline float power(float x) {
    return power_in_range(x < -86.f ? -86.f : x);
}

} // namespace

} // namespace troupe::cpu
