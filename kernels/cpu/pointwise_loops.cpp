// Compiled several times, with TROUPE_POINTWISE_LOOPS naming the table; see loops.cpp for what it must not use. The
// polynomials were fitted by least squares in Chebyshev points, weighted for the relative error.
#include "kernels/cpu/pointwise_loops.hpp"

#include "kernels/cpu/exponential.hpp"
#include "kernels/cpu/loop_marks.hpp"
#include "kernels/cpu/sigmoid.hpp"

namespace troupe::cpu {

namespace {

// e^(x^2) erfc(x) for x >= 0 as a polynomial in 2 / (2 + x).
inline float scaled_complement(float x) {
    const float t = 2.f / (2.f + x);
    float p = 1.595810450e-2f;
    p = p * t - 0.1424992464f;
    p = p * t + 0.4723565909f;
    p = p * t - 0.7252827107f;
    p = p * t + 0.4648361616f;
    p = p * t - 0.1203104900f;
    p = p * t + 0.2326308539f;
    p = p * t + 0.2372421148f;
    p = p * t + 0.2830112799f;
    p = p * t + 0.2820573292f;
    return p * t;
}

// The normal distribution's density without its constant, and its share below x.
struct normal_at {
    float density; // e^(-x^2 / 2)
    float below;
};
inline normal_at normal(float x) {
    const float size = x < 0 ? -x : x;
    const float density = exponential(-0.5f * x * x);
    const float tail = 0.5f * density * scaled_complement(size * 0.70710678f);
    return {density, x < 0 ? tail : 1.f - tail};
}

constexpr float density_constant = 0.39894228f; // 1 / sqrt(2 pi)
constexpr float two_root = 1.59576912f;         // 2 sqrt(2 / pi)
constexpr float cubic = 0.044715f;

void relu(const float* x, float* y, std::size_t count) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < count; ++i)
        y[i] = x[i] < 0 ? 0 : x[i];
}

void relu_back(const float* y, const float* dy, float* dx, std::size_t count) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < count; ++i)
        dx[i] = y[i] > 0 ? dy[i] : 0;
}

void gelu(const float* x, float* y, std::size_t count) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < count; ++i)
        y[i] = x[i] * normal(x[i]).below;
}

void gelu_back(const float* x, const float* dy, float* dx, std::size_t count) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < count; ++i) {
        const normal_at n = normal(x[i]);
        dx[i] = dy[i] * (n.below + x[i] * density_constant * n.density);
    }
}

void gelu_tanh(const float* x, float* y, std::size_t count) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < count; ++i)
        y[i] = x[i] * logistic(two_root * (x[i] + cubic * x[i] * x[i] * x[i]));
}

void gelu_tanh_back(const float* x, const float* dy, float* dx, std::size_t count) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < count; ++i) {
        const float square = x[i] * x[i];
        const float s = logistic(two_root * (x[i] + cubic * square * x[i]));
        const float inner = two_root * (1.f + 3.f * cubic * square);
        dx[i] = dy[i] * (s + x[i] * s * (1.f - s) * inner);
    }
}

void silu(const float* x, float* y, std::size_t count) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < count; ++i)
        y[i] = x[i] * logistic(x[i]);
}

inline float silu_slope(float x, float s) {
    return s + x * s * (1.f - s);
}

void silu_back(const float* x, const float* dy, float* dx, std::size_t count) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < count; ++i)
        dx[i] = dy[i] * silu_slope(x[i], logistic(x[i]));
}

void sigmoid(const float* x, float* y, std::size_t count) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < count; ++i)
        y[i] = logistic(x[i]);
}

void sigmoid_back(const float* y, const float* dy, float* dx, std::size_t count) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < count; ++i)
        dx[i] = dy[i] * y[i] * (1.f - y[i]);
}

void tanh(const float* x, float* y, std::size_t count) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < count; ++i)
        y[i] = tangent(x[i]);
}

void tanh_back(const float* y, const float* dy, float* dx, std::size_t count) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < count; ++i)
        dx[i] =
            dy[i] * (1.f - y[i]) * (1.f + y[i]); // not y^2, whose rounding is much beside 1 - y^2
}

void swiglu(const float* gate, const float* up, float* y, std::size_t count) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < count; ++i)
        y[i] = gate[i] * logistic(gate[i]) * up[i];
}

void swiglu_back(const float* gate, const float* up, const float* dy, float* dgate, float* dup,
                 std::size_t count) {
    TROUPE_EACH_BY_ITSELF
    for (std::size_t i = 0; i < count; ++i) {
        const float g = gate[i];
        const float s = logistic(g);
        const float d = dy[i];
        const float u = up[i];
        dgate[i] = d * u * silu_slope(g, s);
        dup[i] = d * g * s;
    }
}

} // namespace

extern const pointwise_loops TROUPE_POINTWISE_LOOPS;
const pointwise_loops TROUPE_POINTWISE_LOOPS{{relu, relu_back},
                                             {gelu, gelu_back},
                                             {gelu_tanh, gelu_tanh_back},
                                             {silu, silu_back},
                                             {sigmoid, sigmoid_back},
                                             {tanh, tanh_back},
                                             swiglu,
                                             swiglu_back};

} // namespace troupe::cpu
