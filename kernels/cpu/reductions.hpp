// Sums and the largest of many floats, in 16 lanes whatever the width of the machine's vectors.
//
// For the loops that are compiled once per instruction set. Static, so that none calls another's; see loops.cpp.
#pragma once

#include <cstddef>

#include "kernels/cpu/vectors.hpp"

namespace troupe::cpu {

constexpr std::size_t lanes = 16;
using lane_registers = registers_of<lanes>;
using lane_values = lane_registers::values;

static inline lane_values load_lanes(const float* x) {
    return lane_registers::get(x);
}

template <class Register>
static inline Register larger(Register x, Register y) {
    return y > x ? y : x;
}
template <class Half>
static inline halves<Half> larger(const halves<Half>& x, const halves<Half>& y) {
    return {larger(x.low, y.low), larger(x.high, y.high)};
}

// The lanes one after another, as doubles.
static inline double sum_of_lanes(const lane_values& v) {
    float each[lanes];
    lane_registers::put(each, v);
    double sum = 0;
    for (std::size_t l = 0; l < lanes; ++l)
        sum += static_cast<double>(each[l]);
    return sum;
}

// The largest of at least one number; any number if one is NaN.
static inline float largest_of(const float* x, std::size_t count) {
    float largest = x[0];
    std::size_t i = 0;
    if (count >= lanes) {
        // Two at a time, as each comparison waits for the last.
        lane_values best = load_lanes(x), other = best;
        for (; i + 2 * lanes <= count; i += 2 * lanes) {
            best = larger(best, load_lanes(x + i));
            other = larger(other, load_lanes(x + i + lanes));
        }
        for (; i + lanes <= count; i += lanes)
            best = larger(best, load_lanes(x + i));
        float each[lanes];
        lane_registers::put(each, larger(best, other));
        for (std::size_t half = lanes / 2; half > 0; half /= 2)
            for (std::size_t l = 0; l < half; ++l)
                each[l] = larger(each[l], each[l + half]);
        largest = each[0];
    }
    for (; i < count; ++i)
        largest = x[i] > largest ? x[i] : largest;
    return largest;
}

static inline float dot_of(const float* x, const float* y, std::size_t count) {
    lane_values sums = {};
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes)
        sums += load_lanes(x + i) * load_lanes(y + i);
    double sum = sum_of_lanes(sums);
    for (; i < count; ++i)
        sum += static_cast<double>(x[i] * y[i]);
    return static_cast<float>(sum);
}

// Each lane adds up at most 64 floats before they go on as doubles.
static inline double sum_of(const float* x, std::size_t count) {
    constexpr std::size_t block = 64 * lanes;
    double sum = 0;
    std::size_t i = 0;
    while (i + lanes <= count) {
        lane_values sums = load_lanes(x + i);
        const std::size_t end = i + block < count ? i + block : count;
        for (i += lanes; i + lanes <= end; i += lanes)
            sums += load_lanes(x + i);
        sum += sum_of_lanes(sums);
    }
    for (; i < count; ++i)
        sum += static_cast<double>(x[i]);
    return sum;
}

} // namespace troupe::cpu
