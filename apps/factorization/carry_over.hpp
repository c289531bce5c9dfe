// A run of "factorization" that goes on with another window or another number of schedulers
// (scheduled::program::carry_over). The users, their factors and residuals stay with the workers.
//
// By coordinates the phase's number says what is computed, so the run goes on with a number at which a sweep begins: what
// has been done of the sweep before is kept, and a whole sweep follows. By sgd nothing depends on the window but how late
// the mean of all ratings is told.
//
// Threads: pure. Errors: errc::usage for another number of workers; errc::protocol if the parts do not fit together.
#pragma once

#include "actors/scheduled/program.hpp"

namespace troupe::factorization {

result<void> carry_over(const scheduled::carried_site& before, const scheduled::carried_site& now,
                        scheduled::carried_run& run);

} // namespace troupe::factorization
