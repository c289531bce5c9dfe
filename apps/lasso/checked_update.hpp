// The dependency check of STRADS: of a set of candidates those that are correlated neither with one another nor with what is
// in flight are updated, each as if it were alone. A pure value.
//
// Source: "Primitives for dynamic big model parallelism", Lee et al., NIPS 2014. There the check covers the set alone, which
// with a window may diverge; here it also covers the phases in flight.
#pragma once

#include <vector>

#include "apps/lasso/penalty.hpp"

namespace troupe::lasso {

struct candidate_set {
    std::vector<double> gram;      // X_S'X_S; the diagonal is positive
    std::vector<double> gradients; // X_S'r, as the workers see r
    std::vector<double> values;
    std::vector<double> in_flight; // of each its largest correlation with what is in flight
};

struct checked_outcome {
    std::vector<bool> is_kept;
    double refused = 0;  // largest correlation for which a variable was left out; 0: none was
    double decrease = 0; // of the objective, if those that are kept are independent
};

// Updates the values of those that are kept, which are chosen greedily in their order: those whose correlations with those
// before them and with what is in flight, without their signs, are below rho.
checked_outcome update_checked(candidate_set& set, const penalty& p, double rho);

} // namespace troupe::lasso
