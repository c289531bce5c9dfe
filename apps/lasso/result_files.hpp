// The result of the program "lasso":
//
//     coefficients.npy   float64: a row for each lambda of a path, one row otherwise; a column for each column of the data
//     coefficients.csv   lambda,column,coefficient: those that are not 0, by the columns' names or numbers
//     path.csv           lambda,objective,gap,nonzeros,intercept
//     summary.json       the loss, the last of these rows, and how many there are
//     columns.txt        the names of the columns, one a line: if they have any
//     scales.npy         float64: what each column was divided by, with data.scale: unit_norm
//
// Coefficients are in the units of the data, or of the scaled columns with data.scale: unit_norm. The files are those of the
// last probe: of a lambda that is not finished they tell the gap that is left.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "actors/scheduled/program.hpp"
#include "schemas/base/error.hpp"

namespace troupe::lasso {

namespace result_names {
inline constexpr const char* coefficients = "coefficients.npy";
inline constexpr const char* table = "coefficients.csv";
inline constexpr const char* path = "path.csv";
inline constexpr const char* summary = "summary.json";
inline constexpr const char* columns = "columns.txt";
inline constexpr const char* scales = "scales.npy";
} // namespace result_names

inline constexpr const char* path_header = "lambda,objective,gap,nonzeros,intercept";

// Files of an earlier run that this one does not write are removed. errc::io where a file cannot be written.
result<std::vector<std::string>> write_result(const scheduled::result_site& site,
                                              std::span<const scheduled::saved_part> saved);

} // namespace troupe::lasso
