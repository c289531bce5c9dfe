// The dependency check of STRADS: of a set of candidates those that are correlated neither with one another nor with what is
// in flight are updated, each as if it were alone. A pure value.
//
// Source: "Primitives for dynamic big model parallelism", Lee et al., NIPS 2014. There the check covers the set alone, which
// with a window may diverge; here it also covers the phases in flight.
#pragma once

#include <cstdint>
#include <vector>

#include "apps/lasso/penalty.hpp"

namespace troupe::lasso {

// What the check covers. The app file has only the first; the others show what it is good for.
enum class check_scope : std::uint8_t { set_and_flight, set, nothing };

struct candidate_set {
    std::vector<double> gram;      // X_S'X_S; the diagonal is positive
    std::vector<double> gradients; // X_S'r, as the workers see r
    std::vector<double> values;
    std::vector<double> in_flight; // of each its largest correlation with what is in flight
};

struct check_settings {
    double rho = 0; // correlations, without their signs, must be below it
    check_scope scope = check_scope::set_and_flight;
};

struct checked_outcome {
    std::vector<bool> is_kept;
    double decrease = 0; // of the objective, if those that are kept are independent
};

// Updates the values of those that are kept, which are chosen greedily in their order.
checked_outcome update_checked(candidate_set& set, const penalty& p, const check_settings& check);

} // namespace troupe::lasso
