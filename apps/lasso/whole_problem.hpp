// All variables of least squares, with all products of their columns, about a point that a probe has found: what a probe
// would find at others follows without one, in float64 and exactly if the products are exact. A value of one thread.
//
//     whole_problem problem{set, residual_square};
//     for (...) {
//         problem.solve(penalty, bounds);                 // each begins where the one before has ended
//         const double gap = duality_gap(problem.residual_square(), problem.sums(penalty.l2), penalty);
//     }
#pragma once

#include <cstddef>
#include <vector>

#include "apps/lasso/coupled_solve.hpp"

namespace troupe::lasso {

class whole_problem {
  public:
    // `residual_square`: at the set's values, where its gradients are.
    whole_problem(coupled_set set, double residual_square)
        : set_{std::move(set)}, values_{set_.values}, gradients_{set_.gradients},
          residual_square_{residual_square} {}

    // `gap`, `passes`: as in solve_bounds.
    solve_outcome solve(const penalty& p, double gap, std::size_t passes);

    // The residual where it is now.
    double residual_square() const;
    coefficient_sums sums(double l2) const;
    const coupled_set& set() const noexcept { return set_; }

  private:
    coupled_set set_;
    std::vector<double> values_, gradients_; // where the probe was
    double residual_square_;
    face_memory memory_;
};

} // namespace troupe::lasso
