// The program "lasso": least squares with L1 and L2 penalties (elastic net), by coordinate descent whose updates at a time
// are coupled by the products of their columns, or checked for correlation.
//
//     const scheduled::program_table programs{lasso::lasso_program()};
//
// Source: STRADS, "Primitives for dynamic big model parallelism", Lee et al., NIPS 2014; scikit-learn's objective and gap.
#pragma once

#include "actors/scheduled/program.hpp"

namespace troupe::lasso {

scheduled::program lasso_program();

} // namespace troupe::lasso
