// Places in "course", the list of numbers that a scheduler's saved state has of where it is: as lasso_scheduler::save writes
// them, and lasso_scheduler::load and carry_over read them.
#pragma once

#include <cstdint>

namespace troupe::lasso {

enum course_number : std::uint8_t {
    has_begun,
    is_done,
    may_gain,
    has_shifted,
    target_mean,
    null_objective,
    objective_bound,
    used,
    lambda_max,
    lambda_at,
    is_judged,
    first_of_judged = is_judged,
    judged_is_now,
    judged_shift,
    last_of_judged = judged_shift,
    shift,
    weight,
    round,
    waits,
    has_returned,
    probe_from,
    residual_square,
    first_of_probe = residual_square, // what the next probe finds again
    has_exact_products,
    is_whole,
    course_numbers,
};

} // namespace troupe::lasso
