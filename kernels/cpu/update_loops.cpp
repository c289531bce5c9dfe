// Compiled several times, with TROUPE_UPDATE_LOOPS naming the table; see loops.cpp for what it must not use.
#include "kernels/cpu/update_loops.hpp"

#include "kernels/cpu/loop_marks.hpp"

namespace troupe::cpu {

namespace {

inline float root(float x) {
    return __builtin_sqrtf(x);
}

// Decay and Velocity: whether there is any. Known when this is compiled, so that nothing is loaded in vain.
template <bool Decay, bool Velocity>
void sgd_loop(const update_task& t) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < t.count; ++i) {
        const float w = t.weight[i];
        const float g =
            t.gradient_scale * (Decay ? t.gradient[i] + t.weight_decay * w : t.gradient[i]);
        float step = g;
        if (Velocity) {
            const float v = t.decay1 * t.first[i] + g;
            step = t.nesterov ? g + t.decay1 * v : v;
            t.new_first[i] = v;
        }
        t.new_weight[i] = w - t.rate * step;
    }
}

void sgd(const update_task& t) {
    if (t.weight_decay != 0)
        t.first != nullptr ? sgd_loop<true, true>(t) : sgd_loop<true, false>(t);
    else
        t.first != nullptr ? sgd_loop<false, true>(t) : sgd_loop<false, false>(t);
}

void adagrad(const update_task& t) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < t.count; ++i) {
        const float w = t.weight[i];
        const float g = t.gradient[i] + t.weight_decay * w;
        const float s = t.first[i] + g * g;
        t.new_weight[i] = w - t.rate * g / (root(s) + t.epsilon);
        t.new_first[i] = s;
    }
}

void rmsprop(const update_task& t) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < t.count; ++i) {
        const float w = t.weight[i];
        const float g = t.gradient[i] + t.weight_decay * w;
        const float s = t.decay1 * t.first[i] + (1 - t.decay1) * g * g;
        t.new_weight[i] = w - t.rate * g / (root(s) + t.epsilon);
        t.new_first[i] = s;
    }
}

void adadelta(const update_task& t) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < t.count; ++i) {
        const float w = t.weight[i];
        const float g = t.gradient[i] + t.weight_decay * w;
        const float s = t.decay1 * t.first[i] + (1 - t.decay1) * g * g;
        const float d = root(t.second[i] + t.epsilon) / root(s + t.epsilon) * g;
        t.new_second[i] = t.decay1 * t.second[i] + (1 - t.decay1) * d * d;
        t.new_weight[i] = w - t.rate * d;
        t.new_first[i] = s;
    }
}

// The mean and the squares of Adam and their quotient.
struct moments {
    float mean;
    float squares;
    float direction;
};

inline moments advance(const update_task& t, std::size_t i, float g) {
    const float m = t.decay1 * t.first[i] + (1 - t.decay1) * g;
    const float s = t.decay2 * t.second[i] + (1 - t.decay2) * g * g;
    return {m, s, m * t.mean_scale / (root(s * t.squares_scale) + t.epsilon)};
}

void adam(const update_task& t) {
    const float coupled = t.decoupled ? 0 : t.weight_decay;
    const float kept = t.decoupled ? 1 - t.rate * t.weight_decay : 1;
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < t.count; ++i) {
        const float w = t.weight[i];
        const moments next = advance(t, i, t.gradient[i] + coupled * w);
        t.new_weight[i] = kept * w - t.rate * next.direction;
        t.new_first[i] = next.mean;
        t.new_second[i] = next.squares;
    }
}

void lamb_direction(const update_task& t) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < t.count; ++i) {
        const moments next = advance(t, i, t.gradient[i]);
        t.new_weight[i] = next.direction + t.weight_decay * t.weight[i];
        t.new_first[i] = next.mean;
        t.new_second[i] = next.squares;
    }
}

// In 16 sums, whatever the width of the vectors.
double sum_of_squares(const float* x, std::size_t count) {
    constexpr std::size_t lanes = 16;
    double sums[lanes] = {};
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes)
        for (std::size_t l = 0; l < lanes; ++l)
            sums[l] += static_cast<double>(x[i + l]) * static_cast<double>(x[i + l]);
    for (std::size_t l = 0; i < count; ++i, ++l)
        sums[l] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    double sum = 0;
    for (const double part : sums)
        sum += part;
    return sum;
}

void clip(const float* x, float limit, float* y, std::size_t count) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < count; ++i)
        y[i] = x[i] > limit ? limit : x[i] < -limit ? -limit : x[i];
}

} // namespace

extern const update_loops TROUPE_UPDATE_LOOPS;
const update_loops TROUPE_UPDATE_LOOPS{sgd,  adagrad,        rmsprop,        adadelta,
                                       adam, lamb_direction, sum_of_squares, clip};

} // namespace troupe::cpu
