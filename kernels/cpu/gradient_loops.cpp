// Compiled several times, with TROUPE_GRADIENT_LOOPS naming the table; see loops.cpp for what it must not use.
#include "kernels/cpu/gradient_loops.hpp"

#include "kernels/cpu/loop_marks.hpp"

namespace troupe::cpu {

namespace {

constexpr float epsilon = 1e-7f; // compensate_delay::epsilon
constexpr std::size_t inputs_max = 64;
constexpr std::size_t lanes = 64; // elements that are sorted side by side

inline float no_nan(float x) {
    return x == x ? x : __builtin_inff();
}

void compensate(compensation_task t) {
    if (t.mean_square == nullptr) {
        TROUPE_EACH_BY_ITSELF
        for (std::size_t i = 0; i < t.count; ++i) {
            const float g = t.gradient[i];
            t.corrected[i] = g + t.factor * g * g * (t.weight[i] - t.pulled[i]);
        }
        return;
    }
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < t.count; ++i) {
        const float g = t.gradient[i];
        const float mean = t.decay * t.mean_square[i] + (1 - t.decay) * g * g;
        const float factor = t.factor / __builtin_sqrtf(mean + epsilon);
        t.new_mean_square[i] = mean;
        t.corrected[i] = g + factor * g * g * (t.weight[i] - t.pulled[i]);
    }
}

// Puts the smaller value of each lane into `low`, the larger one into `high`.
inline void order(float* low, float* high) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < lanes; ++i) {
        const float a = low[i], b = high[i];
        low[i] = a < b ? a : b;
        high[i] = a < b ? b : a;
    }
}

void trimmed_mean(const float* const* inputs, std::size_t count_inputs, std::size_t trim,
                  float* output, std::size_t count) {
    float rows[inputs_max][lanes] = {};
    const float kept = static_cast<float>(count_inputs - 2 * trim);
    for (std::size_t first = 0; first < count; first += lanes) {
        const std::size_t width = count - first < lanes ? count - first : lanes;
        for (std::size_t k = 0; k < count_inputs; ++k)
            for (std::size_t i = 0; i < width; ++i)
                rows[k][i] = no_nan(inputs[k][first + i]);
        // Odd-even transposition sort.
        for (std::size_t round = 0; round < count_inputs; ++round)
            for (std::size_t k = round % 2; k + 1 < count_inputs; k += 2)
                order(rows[k], rows[k + 1]);
        for (std::size_t k = trim + 1; k + trim < count_inputs; ++k)
            for (std::size_t i = 0; i < lanes; ++i)
                rows[trim][i] += rows[k][i];
        for (std::size_t i = 0; i < width; ++i)
            output[first + i] = rows[trim][i] / kept;
    }
}

float largest_difference(const float* x, const float* y, std::size_t count) {
    float largest[lanes] = {};
    const auto take = [&](std::size_t lane, std::size_t i) {
        const float d = no_nan(__builtin_fabsf(x[i] - y[i]));
        largest[lane] = largest[lane] < d ? d : largest[lane];
    };
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        TROUPE_EACH_BY_ITSELF
        for (std::size_t lane = 0; lane < lanes; ++lane)
            take(lane, i + lane);
    }
    for (std::size_t lane = 0; i + lane < count; ++lane)
        take(lane, i + lane);
    float all = 0;
    for (const float l : largest)
        all = all < l ? l : all;
    return all;
}

} // namespace

extern const gradient_loops TROUPE_GRADIENT_LOOPS;
const gradient_loops TROUPE_GRADIENT_LOOPS{compensate, trimmed_mean, largest_difference};

} // namespace troupe::cpu
