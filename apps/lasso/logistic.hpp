// Logistic regression as a sequence of weighted least squares, and its duality gap. Pure values.
//
// A row has the class y, 0 or 1, and the margin m = x'b + b0; p = 1 / (1 + exp(-m)) is its probability of class 1. Its loss
// is log(1 + exp(m)) - y m, its residual v = y - p, and its weight w = p (1 - p), the loss' second derivative. About a point
// the loss is, but for a constant, nearly
//
//     sum over rows of w (v / w - x'd - d0)^2 / 2          where b has changed by d and b0 by d0
//
// so that the next coefficients are those of weighted least squares: the proximal Newton method, and the residual of that
// problem is r = v - w (x'd + d0).
//
// The dual point is c (v - w s), where s = sum v / sum w makes its sum 0 if there is an intercept, and c makes its product
// with every column no larger than the penalty. As the loss' conjugate at -u is h(y - u) with h(q) = q log q + (1 - q)
// log(1 - q), the gap is, with l1, l2 as in penalty.hpp and g = X'(v - w s),
//
//     l1 |b|_1 + l2 / 2 (1 + c^2) |b|_2^2 - c b'g + R,   R = sum of h(y - c (v - w s)) - h(p) - m (p_c - p)
//
// where p_c = y - c (v - w s). c is not known while rows are gone through, so R is bounded from above by sums that do not
// depend on it: by Taylor, as the second derivative of h between p and p_c is at most 1 / (w c (1 - |s|)^2), and, since h
// is convex, by its chord from c = 0. The first is right to the second order in 1 - c and s, which vanish at the optimum.
//
// Sources: Friedman, Hastie, Tibshirani, "Regularization paths for generalized linear models via coordinate descent", 2010;
// the scaled dual point: Massias, Vaiter, Gramfort, Salmon, "Dual extrapolation for sparse generalized linear models", 2020.
#pragma once

#include <algorithm>
#include <cmath>

namespace troupe::lasso {

struct logistic_row {
    double loss = 0;
    double residual = 0; // v
    double weight = 0;   // w; never 0
    double spread = 0;   // v^2 / w: exp of the margin on the wrong side
};

// No overflow and no 0: margins beyond so much are those of a step that is taken back.
inline constexpr double margin_max = 600;

inline logistic_row logistic_row_of(double margin, bool is_one) noexcept {
    const double wrong = is_one ? -margin : margin; // > 0: on the wrong side
    const double bounded = std::clamp(wrong, -margin_max, margin_max);
    const double tail = std::exp(-std::abs(bounded)), of_both = 1 + tail;
    const double miss = (bounded > 0 ? 1.0 : tail) / of_both; // |v|, without cancellation
    return {std::max(wrong, 0.0) + std::log1p(std::exp(-std::abs(wrong))), is_one ? miss : -miss,
            tail / (of_both * of_both), std::exp(bounded)};
}

inline double probability_of(double margin) noexcept {
    const double tail = std::exp(-std::abs(margin));
    return (margin > 0 ? 1.0 : tail) / (1 + tail);
}

// Sums over all rows.
struct logistic_point {
    double loss = 0;
    double spread = 0; // of v^2 / w, less shift^2 weight: about its mean
    double weight = 0;
    double shift = 0; // s; 0 without an intercept
};

// The bound of R; infinite where there is none.
inline double logistic_gap(const logistic_point& at, double c) noexcept {
    const double size = std::abs(at.shift);
    if (!(size < 1) || !(c > 0))
        return HUGE_VAL;
    const double moved = at.shift * at.shift * at.weight, room = 2 * (1 - size) * (1 - size);
    const double taylor = ((1 - c) * (1 - c) * at.spread + moved) / (c * room);
    const double chord = (1 - c) * at.loss + c * moved / room;
    return std::min(taylor, chord);
}

// The loss of `rows` rows, a share of which is of class 1, where the intercept alone is the best: 0 of one class.
inline double null_loss(double rows, double share) noexcept {
    if (!(share > 0 && share < 1))
        return 0;
    return -rows * (share * std::log(share) + (1 - share) * std::log1p(-share));
}

} // namespace troupe::lasso
