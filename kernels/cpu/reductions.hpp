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

// Lane l has what lane l ^ Distance had.
template <int Distance>
static inline lane_values exchanged(lane_values x) {
    typedef int numbers __attribute__((vector_size(lanes * 4)));
    numbers from;
    for (int l = 0; l < static_cast<int>(lanes); ++l)
        from[l] = l ^ Distance;
    return __builtin_shuffle(x, from);
}

static inline lane_values larger(lane_values x, lane_values y) {
    return y > x ? y : x;
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
        best = larger(best, other);
        best = larger(best, exchanged<8>(best));
        best = larger(best, exchanged<4>(best));
        best = larger(best, exchanged<2>(best));
        largest = larger(best, exchanged<1>(best))[0];
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
