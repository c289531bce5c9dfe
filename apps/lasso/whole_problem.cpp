#include "apps/lasso/whole_problem.hpp"

#include <algorithm>

namespace troupe::lasso {

solve_outcome whole_problem::solve(const penalty& p, double gap, std::size_t passes) {
    // The residual's square may rise as the objective falls, but not above twice the objective.
    const double bound = 2 * objective(residual_square(), sums(p.l2), p);
    return lasso::solve(set_, p, {gap, passes, bound}, memory_);
}

// |r - X d|^2 = |r|^2 - d'(X'r + X'(r - X d))
double whole_problem::residual_square() const {
    double square = residual_square_;
    for (std::size_t i = 0; i < values_.size(); ++i)
        square -= (set_.values[i] - values_[i]) * (gradients_[i] + set_.gradients[i]);
    return std::max(square, 0.0);
}

coefficient_sums whole_problem::sums(double l2) const {
    coefficient_sums sums;
    for (std::size_t i = 0; i < set_.values.size(); ++i)
        sums.add(set_.values[i], set_.gradients[i], l2);
    return sums;
}

} // namespace troupe::lasso
