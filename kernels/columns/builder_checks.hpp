// Checks of builders of both kinds of columns: of a matrix's size, and of what arrives.
#pragma once

#include <cstddef>
#include <string>

#include "kernels/columns/column_matrix.hpp"
#include "schemas/base/error.hpp"

namespace troupe::columns {

// errc::data for more rows or columns than a matrix may have.
result<void> check_size(matrix_size size);

// errc::data unless so many more rows fit behind those that have arrived.
result<void> check_rows(matrix_size size, std::size_t arrived, std::size_t more);

// errc::data unless all rows have arrived.
result<void> check_complete(matrix_size size, std::size_t arrived);

// "row 3, column 7"
std::string place_name(std::size_t row, std::size_t column);

error not_finite(std::size_t row, std::size_t column, float value);

} // namespace troupe::columns
