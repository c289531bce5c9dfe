// A few variables of an elastic net solved together, given how they act on one another: coordinate descent that needs the data
// no more. A pure value.
//
// Source: covariance updates, Friedman, Hastie, Tibshirani, "Regularization paths for generalized linear models via coordinate
// descent", 2010.
#pragma once

#include <cstddef>
#include <vector>

#include "apps/lasso/penalty.hpp"

namespace troupe::lasso {

struct coupled_set {
    std::vector<double> gram;      // X_S'X_S: as many rows and columns as there are variables; the diagonal is positive
    std::vector<double> gradients; // X_S'r
    std::vector<double> values;    // of the variables
};

struct solve_bounds {
    double gap = 0; // small enough, for the set with everything else as it is
    std::size_t passes = 0;
    double residual_square = 0; // at least |r|^2
};

struct solve_outcome {
    double gap = 0;      // for the set with everything else as it is
    double decrease = 0; // of the objective
    std::size_t passes = 0;
};

// Passes over the variables, in their order, until the gap is small enough; between two passes over all there are some over
// those that are not 0. Changes gradients and values.
solve_outcome solve(coupled_set& set, const penalty& p, const solve_bounds& bounds);

} // namespace troupe::lasso
