// Sums and the largest of many floats, in 16 lanes whatever the width of the machine's vectors.
//
// For the loops that are compiled once per instruction set. Static, so that none calls another's; see loops.cpp.
#pragma once

#include <cstddef>

namespace troupe::cpu {

constexpr std::size_t lanes = 16;
typedef float lane_values __attribute__((vector_size(lanes * 4), aligned(4)));

static inline lane_values load_lanes(const float* x) {
    return *reinterpret_cast<const lane_values*>(x);
}

// Of at least one number. Some number where one is NaN.
static inline float largest_of(const float* x, std::size_t count) {
    float largest = x[0];
    std::size_t i = 0;
    if (count >= lanes) {
        lane_values best = load_lanes(x);
        for (i = lanes; i + lanes <= count; i += lanes) {
            const lane_values next = load_lanes(x + i);
            best = next > best ? next : best;
        }
        for (std::size_t l = 0; l < lanes; ++l)
            largest = best[l] > largest ? best[l] : largest;
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
    double sum = 0;
    for (std::size_t l = 0; l < lanes; ++l)
        sum += static_cast<double>(sums[l]);
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
        for (std::size_t l = 0; l < lanes; ++l)
            sum += static_cast<double>(sums[l]);
    }
    for (; i < count; ++i)
        sum += static_cast<double>(x[i]);
    return sum;
}

} // namespace troupe::cpu
