// A few variables of an elastic net solved together, given how they act on one another: coordinate descent that needs the
// data no more. A pure value.
//
// Source: covariance updates, Friedman, Hastie, Tibshirani, "Regularization paths for generalized linear models via
// coordinate descent", 2010.
#pragma once

#include <cstddef>
#include <vector>

#include "apps/lasso/coupling_matrix.hpp"
#include "apps/lasso/face_factor.hpp"
#include "apps/lasso/gathered_columns.hpp"
#include "apps/lasso/penalty.hpp"

namespace troupe::lasso {

// Centred columns have products that are nowhere 0, even if the columns as they are have few entries. So the products are
// kept as they are, and the means apart.
struct coupled_set {
    coupling_matrix products; // of the columns, scaled and not centred
    std::vector<double>
        means; // of them, times the root of the rows: X_S'X_S is products - means means'
    std::vector<double> curvatures; // the diagonal of X_S'X_S; positive
    std::vector<double> gradients;  // X_S'r
    std::vector<double> values;     // of the variables

    // An entry of X_S'X_S.
    double coupling(std::size_t i, std::size_t j) const {
        return products.at(i, j) - means[i] * means[j];
    }
};

// The same with the columns instead of their products.
struct gathered_set {
    std::vector<gathered_column> columns; // scaled and not centred
    std::vector<double> means, curvatures, gradients, values;

    // Numbers that are read for all columns once.
    std::size_t entries() const;
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

// Memory that may be kept from one penalty to the next, for the same set.
struct face_memory {
    face_factor factor;   // of the variables in use, once steps have cost as much as it does
    double l2 = 0;        // of the penalty, which is in the factor
    double step_work = 0; // multiply-adds of steps without it
};

// Passes over the variables, in their order, until the gap is small enough. Between two passes over all there are some over
// those that are not 0, and a step towards where these would be best with their signs as they are: of columns that are much
// alike, coordinate descent alone takes thousands of passes. The step is by conjugate gradients and then, of dense products,
// by a factor that follows as variables come and go. The objective never rises. Changes gradients and values.
solve_outcome solve(coupled_set& set, const penalty& p, const solve_bounds& bounds);
solve_outcome solve(coupled_set& set, const penalty& p, const solve_bounds& bounds,
                    face_memory& memory);
solve_outcome solve(gathered_set& set, const penalty& p, const solve_bounds& bounds);

} // namespace troupe::lasso
