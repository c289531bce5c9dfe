// Places in "course", the list of numbers that a scheduler's saved state has of where it is: as lasso_scheduler::save writes
// them, and lasso_scheduler::load and carry_over read them.
#pragma once

#include <cstdint>

namespace troupe::lasso {

enum course_number : std::uint8_t {
    has_begun = 0,
    is_done = 1,
    may_gain = 2,
    has_shifted = 3,
    first_of_judged = 10,
    last_of_judged = 12,
    weight = 14,
    waits = 16,
    has_returned = 17,
    probe_from = 18,
    first_of_probe = 19, // what the next probe finds again
    course_numbers = 22,
};

} // namespace troupe::lasso
