// Data for runs of lasso, the runs, and what plain coordinate descent over all the data finds.
#pragma once

#include <cstdint>
#include <vector>

#include "apps/lasso/lasso_limits.hpp"
#include "apps/lasso/solutions.hpp"
#include "tests/support/program_driver.hpp"

namespace troupe::test {

// What a run of lasso is told. The penalty: a lambda, a share of the largest one, or a path of `count` values.
struct lasso_case {
    double lambda = 0;
    double share = 0;
    std::uint32_t count = 0;
    double path_ratio = 0.001;
    double ratio = 1;
    bool intercept = true;
    bool is_logistic = false;
    bool has_label = false;
    std::int32_t label = 0;
    bool sees_flight = true; // false: coupling::check as in STRADS, of the set alone
    std::size_t gram_entries_max = lasso::limits::gram_entries_max; // that a scheduler keeps
    std::size_t gathered_entries_max = lasso::limits::gathered_entries_max; // likewise
    driven_run run; // its settings and its program are set
};

// With gaps that are small enough for the objective to be right to 1e-13.
lasso_case precise_case();

struct lasso_result {
    driven_result run;
    std::vector<lasso::solution> solutions; // of all schedulers together
};
result<lasso_result> run_lasso(const lasso_case& c, const matrix_rows& rows);
// Goes on as `now` from the last phase of `before`.
result<lasso_result> run_lasso(const lasso_case& before, const lasso_case& now,
                               const matrix_rows& rows);

// ---- data ----

struct made_data {
    std::uint64_t rows = 0, columns = 0;
    double share = 1;        // of the entries that are not 0; below 1 the matrix is sparse
    std::uint64_t group = 1; // so many columns in a row are alike
    double likeness = 0;     // the share of their values that they have in common
    double mean = 0;         // of every column's values
    std::uint64_t seed = 1;
};
// Targets are those of ten columns, and some noise.
matrix_rows made_rows(const made_data& made);
// The same matrix with all its entries.
matrix_rows dense_of(const matrix_rows& rows);

// ---- plain coordinate descent ----

struct plain_solution {
    double lambda = 0;
    double objective = 0;
    double intercept = 0;
    std::vector<double> values; // of the model's columns
};
// At this lambda, or at the case's lambda or share of the largest one if it is 0.
plain_solution plain_descent(const lasso_case& c, const matrix_rows& rows, double lambda = 0);

// The objective and the gap of these values; and how far the conditions of the optimum are from holding, relative to lambda.
struct plain_check {
    double objective = 0;
    double gap = 0; // relative to the objective where all values are 0
    double violation = 0;
};
plain_check check_plainly(const lasso_case& c, const matrix_rows& rows, const lasso::solution& s);

} // namespace troupe::test
