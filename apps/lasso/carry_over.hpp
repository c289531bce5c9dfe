// A run of "lasso" that goes on with another window or other numbers of schedulers and workers
// (scheduled::program::carry_over).
//
// Coefficients, what is known of columns, priorities and solutions are of variables, residuals and weights of rows: they are
// put together and divided anew. Everything else follows from a probe, which is the first phase: products of columns, the
// working set, of a loss with rounds the problem that is solved.
//
// Threads: pure. Errors: errc::protocol if the parts do not fit together.
#pragma once

#include "actors/scheduled/program.hpp"

namespace troupe::lasso {

result<void> carry_over(const scheduled::carried_site& before, const scheduled::carried_site& now,
                        scheduled::carried_run& run);

} // namespace troupe::lasso
