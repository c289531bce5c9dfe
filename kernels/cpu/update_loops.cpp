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
void sgd_loop(sgd_settings s, update_task t) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < t.count; ++i) {
        const float w = t.weight[i];
        const float g =
            s.gradient_scale * (Decay ? t.gradient[i] + s.weight_decay * w : t.gradient[i]);
        float step = g;
        if (Velocity) {
            const float v = s.momentum * t.state[0][i] + g;
            step = s.nesterov ? g + s.momentum * v : v;
            t.new_state[0][i] = v;
        }
        t.new_weight[i] = w - t.learning_rate * step;
    }
}

void sgd(sgd_settings s, update_task t) {
    if (s.weight_decay != 0)
        s.momentum != 0 ? sgd_loop<true, true>(s, t) : sgd_loop<true, false>(s, t);
    else
        s.momentum != 0 ? sgd_loop<false, true>(s, t) : sgd_loop<false, false>(s, t);
}

void adagrad(adagrad_settings s, update_task t) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < t.count; ++i) {
        const float w = t.weight[i];
        const float g = t.gradient[i] + s.weight_decay * w;
        const float squares = t.state[0][i] + g * g;
        t.new_weight[i] = w - t.learning_rate * g / (root(squares) + s.epsilon);
        t.new_state[0][i] = squares;
    }
}

void rmsprop(rmsprop_settings s, update_task t) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < t.count; ++i) {
        const float w = t.weight[i];
        const float g = t.gradient[i] + s.weight_decay * w;
        const float squares = s.decay * t.state[0][i] + (1 - s.decay) * g * g;
        t.new_weight[i] = w - t.learning_rate * g / (root(squares) + s.epsilon);
        t.new_state[0][i] = squares;
    }
}

void adadelta(adadelta_settings s, update_task t) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < t.count; ++i) {
        const float w = t.weight[i];
        const float u = t.state[1][i];
        const float g = t.gradient[i] + s.weight_decay * w;
        const float squares = s.decay * t.state[0][i] + (1 - s.decay) * g * g;
        const float d = root(u + s.epsilon) / root(squares + s.epsilon) * g;
        t.new_weight[i] = w - t.learning_rate * d;
        t.new_state[0][i] = squares;
        t.new_state[1][i] = s.decay * u + (1 - s.decay) * d * d;
    }
}

// 1 / (1 - beta^t), for an average that began with 0.
float bias_scale(float beta, std::uint64_t t) {
    return static_cast<float>(
        1 / (1 - __builtin_pow(static_cast<double>(beta), static_cast<double>(t))));
}

// The mean and the squares of Adam and their quotient.
struct moments {
    float mean;
    float squares;
    float direction;
};

template <class Settings>
moments advance(const Settings& s, float mean_scale, float squares_scale, const update_task& t,
                std::size_t i, float g) {
    const float mean = s.beta1 * t.state[0][i] + (1 - s.beta1) * g;
    const float squares = s.beta2 * t.state[1][i] + (1 - s.beta2) * g * g;
    return {mean, squares, mean * mean_scale / (root(squares * squares_scale) + s.epsilon)};
}

void adam(adam_settings s, update_task t) {
    const float mean_scale = bias_scale(s.beta1, t.step);
    const float squares_scale = bias_scale(s.beta2, t.step);
    const float coupled = s.decoupled ? 0 : s.weight_decay;
    const float kept = s.decoupled ? 1 - t.learning_rate * s.weight_decay : 1;
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < t.count; ++i) {
        const float w = t.weight[i];
        const moments next =
            advance(s, mean_scale, squares_scale, t, i, t.gradient[i] + coupled * w);
        t.new_weight[i] = kept * w - t.learning_rate * next.direction;
        t.new_state[0][i] = next.mean;
        t.new_state[1][i] = next.squares;
    }
}

void lamb_direction(lamb_settings s, update_task t) {
    const float mean_scale = bias_scale(s.beta1, t.step);
    const float squares_scale = bias_scale(s.beta2, t.step);
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < t.count; ++i) {
        const moments next = advance(s, mean_scale, squares_scale, t, i, t.gradient[i]);
        t.new_weight[i] = next.direction + s.weight_decay * t.weight[i];
        t.new_state[0][i] = next.mean;
        t.new_state[1][i] = next.squares;
    }
}

// Takes 16 sums, whatever the width of the vectors.
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

void scale(const float* x, float factor, float* y, std::size_t count) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < count; ++i)
        y[i] = factor * x[i];
}

void clip(const float* x, float limit, float* y, std::size_t count) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < count; ++i)
        y[i] = x[i] > limit ? limit : x[i] < -limit ? -limit : x[i];
}

} // namespace

extern const update_loops TROUPE_UPDATE_LOOPS;
const update_loops TROUPE_UPDATE_LOOPS{
    sgd, adagrad, rmsprop, adadelta, adam, lamb_direction, sum_of_squares, scale, clip};

} // namespace troupe::cpu
