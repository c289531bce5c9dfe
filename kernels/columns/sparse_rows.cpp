#include "kernels/columns/sparse_rows.hpp"

#include <cmath>

#include "kernels/columns/builder_checks.hpp"

namespace troupe {

namespace {

error in_row(std::size_t row, const std::string& what) {
    return {errc::data, "row " + std::to_string(row) + ": " + what};
}

// Entries of one row, whose range has been checked.
result<void> check_row(const sparse_rows& rows, std::size_t i, first_row_and_columns place) {
    const std::size_t row = place.first_row + i;
    std::int64_t last = -1;
    for (auto e = static_cast<std::size_t>(rows.starts[i]);
         e < static_cast<std::size_t>(rows.starts[i + 1]); ++e) {
        const std::int64_t column = rows.columns[e];
        if (column < 0 || static_cast<std::size_t>(column) >= place.columns)
            return in_row(row, "column " + std::to_string(column) +
                                   " is not among the matrix's columns, 0 to " +
                                   std::to_string(static_cast<std::int64_t>(place.columns) - 1));
        if (column <= last)
            return in_row(row, "column " + std::to_string(column) + " follows column " +
                                   std::to_string(last) +
                                   ": the columns of a row must be in ascending order, each once");
        if (!std::isfinite(rows.values[e]))
            return columns::not_finite(row, static_cast<std::size_t>(column), rows.values[e]);
        last = column;
    }
    return {};
}

} // namespace

result<void> check_rows(const sparse_rows& rows, first_row_and_columns place) {
    if (rows.columns.size() != rows.values.size())
        return in_row(place.first_row,
                      std::to_string(rows.columns.size()) + " column numbers for " +
                          std::to_string(rows.values.size()) + " values: the data is cut off");
    const auto entries = static_cast<std::int64_t>(rows.values.size());
    for (std::size_t i = 0; i < rows.rows(); ++i) {
        const std::int64_t begin = rows.starts[i], end = rows.starts[i + 1];
        if (begin < 0 || end < begin || end > entries)
            return in_row(place.first_row + i,
                          "its entries are said to be from " + std::to_string(begin) + " to " +
                              std::to_string(end) + " of " + std::to_string(entries) +
                              ": the data is cut off or its row starts are wrong");
        if (auto good = check_row(rows, i, place); !good)
            return good;
    }
    return {};
}

} // namespace troupe
