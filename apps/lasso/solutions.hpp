// Solutions that a scheduler has found, as of its probes: for each lambda its coefficients that are not 0, and what
// all schedulers know of them. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/scheduled/program.hpp"
#include "schemas/base/error.hpp"

namespace troupe::lasso {

// Numbers of a solution, over all variables.
struct solution_numbers {
    double lambda = 0;
    double objective = 0; // as scikit-learn has it: divided by the rows
    double gap = 0;       // relative to the objective where all coefficients are 0
    double intercept = 0;
    double used = 0; // coefficients that are not 0
};

struct solution {
    solution_numbers numbers;
    std::vector<std::int32_t> columns; // rising
    std::vector<double> values;
};

// The tensors of a saved part that hold solutions.
inline constexpr const char* solution_names[] = {"solution numbers", "solution sizes",
                                                 "solution columns", "solution values"};

result<void> append_solutions(memory_pool& memory, const std::vector<solution>& solutions,
                              scheduled::saved_part& to);
// errc::protocol if they are not there or do not fit together.
result<std::vector<solution>> read_solutions(const scheduled::saved_part& saved);

} // namespace troupe::lasso
