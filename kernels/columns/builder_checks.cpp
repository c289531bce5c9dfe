#include "kernels/columns/builder_checks.hpp"

#include "schemas/base/limits.hpp"

namespace troupe::columns {

result<void> check_size(matrix_size size) {
    if (size.rows > limits::matrix_rows_max)
        return error{errc::data, "a matrix of " + std::to_string(size.rows) +
                                     " rows has more than the " +
                                     std::to_string(limits::matrix_rows_max) +
                                     " that one worker can hold: use more workers"};
    if (size.columns > limits::matrix_columns_max)
        return error{errc::data, "a matrix of " + std::to_string(size.columns) +
                                     " columns has more than the " +
                                     std::to_string(limits::matrix_columns_max) + " allowed"};
    return {};
}

result<void> check_rows(matrix_size size, std::size_t arrived, std::size_t more) {
    if (more > size.rows - arrived)
        return error{errc::data, "the data goes on with row " + std::to_string(size.rows) +
                                     ", but should have " + std::to_string(size.rows) +
                                     " rows: it has changed since its rows were counted"};
    return {};
}

result<void> check_complete(matrix_size size, std::size_t arrived) {
    if (arrived != size.rows)
        return error{errc::data, "the data ends before row " + std::to_string(arrived) +
                                     ", but should have " + std::to_string(size.rows) +
                                     " rows: it has changed since its rows were counted"};
    return {};
}

std::string place_name(std::size_t row, std::size_t column) {
    return "row " + std::to_string(row) + ", column " + std::to_string(column);
}

error not_finite(std::size_t row, std::size_t column, float value) {
    return {errc::data, place_name(row, column) + ": the value " + std::to_string(value) +
                            " is not a finite number: remove or replace missing values"};
}

} // namespace troupe::columns
