// The transforms of F(4x4, 3x3) in one dimension, for winograd_loops.cpp. All has internal linkage; see registers.hpp.
//
// They evaluate polynomials at 0, a, -a, b, -b and infinity. Lavin and Gray's a = 1 and b = 2 give short fractions, but in
// float32 twice the error of these, which of all sixteenths give the least on random images. How much hangs on the points:
// B. Barabasz et al., Error Analysis and Improving the Accuracy of Winograd Convolution, 2018.
//
// `s` and `os` are the distances of neighbours.
#pragma once

#include "kernels/cpu/registers.hpp"

namespace troupe::cpu {

namespace {

constexpr float a1 = 5 / 8.f, a2 = a1 * a1, a3 = a1 * a2;
constexpr float b1 = 3 / 2.f, b2 = b1 * b1, b3 = b1 * b2;
constexpr float share_0 = 1 / (a2 * b2);            // of the weights' values at 0,
constexpr float share_a = 1 / (2 * a2 * (a2 - b2)); // at a and -a,
constexpr float share_b = 1 / (2 * b2 * (b2 - a2)); // at b and -b

// Transforms 6 pixels: B^T.
inline void transform_pixels(const vec* d, std::size_t s, vec* out, std::size_t os) {
    const vec d0 = d[0], d1 = d[s], d2 = d[2 * s], d3 = d[3 * s], d4 = d[4 * s], d5 = d[5 * s];
    const vec even_a = d4 - b2 * d2, odd_a = a1 * (d3 - b2 * d1);
    const vec even_b = d4 - a2 * d2, odd_b = b1 * (d3 - a2 * d1);
    out[0] = (a2 * b2) * d0 - (a2 + b2) * d2 + d4;
    out[os] = even_a + odd_a;
    out[2 * os] = even_a - odd_a;
    out[3 * os] = even_b + odd_b;
    out[4 * os] = even_b - odd_b;
    out[5 * os] = (a2 * b2) * d1 - (a2 + b2) * d3 + d5;
}

// Transforms to 4 results: A^T.
inline void transform_results(const vec* m, std::size_t s, vec* out, std::size_t os) {
    const vec sum_a = m[s] + m[2 * s], difference_a = m[s] - m[2 * s];
    const vec sum_b = m[3 * s] + m[4 * s], difference_b = m[3 * s] - m[4 * s];
    out[0] = m[0] + sum_a + sum_b;
    out[os] = a1 * difference_a + b1 * difference_b;
    out[2 * os] = a2 * sum_a + b2 * sum_b;
    out[3 * os] = a3 * difference_a + b3 * difference_b + m[5 * s];
}

// Transforms 4 gradients of results: A.
inline void transform_gradients(const vec* y, std::size_t s, vec* out, std::size_t os) {
    const vec y0 = y[0], y1 = y[s], y2 = y[2 * s], y3 = y[3 * s];
    const vec even_a = y0 + a2 * y2, odd_a = a1 * y1 + a3 * y3;
    const vec even_b = y0 + b2 * y2, odd_b = b1 * y1 + b3 * y3;
    out[0] = y0;
    out[os] = even_a + odd_a;
    out[2 * os] = even_a - odd_a;
    out[3 * os] = even_b + odd_b;
    out[4 * os] = even_b - odd_b;
    out[5 * os] = y3;
}

// Transforms 3 weights: G.
inline void transform_weights(const vec* g, std::size_t s, vec* out, std::size_t os) {
    const vec even_a = (g[0] + a2 * g[2 * s]) * share_a, odd_a = g[s] * (a1 * share_a);
    const vec even_b = (g[0] + b2 * g[2 * s]) * share_b, odd_b = g[s] * (b1 * share_b);
    out[0] = g[0] * share_0;
    out[os] = even_a + odd_a;
    out[2 * os] = even_a - odd_a;
    out[3 * os] = even_b + odd_b;
    out[4 * os] = even_b - odd_b;
    out[5 * os] = g[2 * s];
}

// Transforms to 3 gradients of weights: G^T.
inline void transform_weight_gradients(const vec* u, std::size_t s, vec* out, std::size_t os) {
    const vec sum_a = (u[s] + u[2 * s]) * share_a, difference_a = (u[s] - u[2 * s]) * share_a;
    const vec sum_b = (u[3 * s] + u[4 * s]) * share_b;
    const vec difference_b = (u[3 * s] - u[4 * s]) * share_b;
    out[0] = u[0] * share_0 + sum_a + sum_b;
    out[os] = a1 * difference_a + b1 * difference_b;
    out[2 * os] = a2 * sum_a + b2 * sum_b + u[5 * s];
}

} // namespace

} // namespace troupe::cpu
