// Sums that a probe finds over all rows, whatever the loss. Plain values.
#pragma once

#include <algorithm>

#include "apps/lasso/logistic.hpp"
#include "apps/lasso/penalty.hpp"
#include "apps/lasso/settings.hpp"

namespace troupe::lasso {

struct fit_sums {
    double residual_square =
        0; // of r / w in the weights w of the rows; about its mean if there is an intercept
    double loss = 0;   // of all rows, not divided by their number
    double weight = 0; // of all rows
    double shift =
        0; // the mean that is subtracted: by how much the intercept would change; 0 without one
    double intercept = 0; // that the workers have
};

inline double objective(const fit_sums& fit, const coefficient_sums& s, const penalty& p) noexcept {
    return fit.loss + p.l1 * s.absolute + p.l2 / 2 * s.square;
}

// How far that objective is above the smallest at most.
inline double duality_gap(loss_kind loss, const fit_sums& fit, const coefficient_sums& s,
                          const penalty& p) noexcept {
    if (loss == loss_kind::squared)
        return duality_gap(fit.residual_square, s, p);
    const logistic_point point{fit.loss, fit.residual_square, fit.weight, fit.shift};
    const double c = s.dual_norm > p.l1 ? p.l1 / s.dual_norm : 1.0;
    const double gap = p.l1 * s.absolute - c * s.product + p.l2 / 2 * (1 + c * c) * s.square +
                       logistic_gap(point, c);
    // No smaller than 0, and no larger than at the dual point 0.
    return std::clamp(gap, 0.0, objective(fit, s, p));
}

} // namespace troupe::lasso
