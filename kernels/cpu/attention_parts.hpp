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

// e^x of numbers up to 0.
inline vec power(vec x) {
    return exponential_in_range(larger(vec{} - 87.f, x));
}

// Rows at a time: as evenly as tiles allow.
struct strips {
    std::size_t rows, count;

    explicit strips(std::size_t rows) : rows{rows}, count{(rows + rows_max - 1) / rows_max} {}
    std::size_t first(std::size_t strip) const { return rows * strip / count; }
    std::size_t rows_of(std::size_t strip) const { return first(strip + 1) - first(strip); }
};

} // namespace

} // namespace troupe::cpu
