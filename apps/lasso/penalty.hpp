// The penalties of an elastic net, and the duality gap. Pure values.
//
// All of it is for n times scikit-learn's objective, so that sums over rows need not be divided:
//
//     |r|^2 / 2 + l1 |b|_1 + l2 / 2 |b|_2^2,      r = y - X b,  l1 = n lambda ratio,  l2 = n lambda (1 - ratio)
//
// with X and y as the model sees them: centred if there is an intercept, and scaled.
//
// Source: the dual point r c with c = min(1, l1 / max|X'r - l2 b|), as in scikit-learn's enet_coordinate_descent.
#pragma once

#include <algorithm>
#include <cmath>

namespace troupe::lasso {

struct penalty {
    double l1 = 0;
    double l2 = 0;
};

// The value b that minimises curvature / 2 (b - z / curvature)^2 + l1 |b| + l2 / 2 b^2; curvature > 0.
inline double minimizer(double z, double curvature, const penalty& p) noexcept {
    const double size = std::abs(z) - p.l1;
    return size > 0 ? std::copysign(size / (curvature + p.l2), z) : 0.0;
}

// Sums over variables that the objective and the gap are made of.
struct coefficient_sums {
    double dual_norm = 0; // max |x_j'r - l2 b_j|
    double absolute = 0;  // |b|_1
    double square = 0;    // |b|_2^2
    double product = 0;   // b'X'r

    void add(double value, double gradient, double l2) noexcept {
        dual_norm = std::max(dual_norm, std::abs(gradient - l2 * value));
        absolute += std::abs(value);
        square += value * value;
        product += value * gradient;
    }
};

inline double objective(double residual_square, const coefficient_sums& s,
                        const penalty& p) noexcept {
    return residual_square / 2 + p.l1 * s.absolute + p.l2 / 2 * s.square;
}

// How far the objective is above the smallest at most. If `s` is of some variables only, that is with the others as they
// are, and then a bound of the residual's square will do for it.
inline double duality_gap(double residual_square, const coefficient_sums& s,
                          const penalty& p) noexcept {
    const double c = s.dual_norm > p.l1 ? p.l1 / s.dual_norm : 1.0;
    const double gap = residual_square / 2 * (1 - c) * (1 - c) + p.l1 * s.absolute - c * s.product +
                       p.l2 / 2 * (1 + c * c) * s.square;
    return std::max(gap, 0.0);
}

} // namespace troupe::lasso
