// Rows of a sparse matrix as they arrive (CSR).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/base/error.hpp"

namespace troupe {

// Some rows. Row i has the entries from starts[i] to starts[i + 1] of the other two; so there is one start more than rows,
// and the entries may be part of larger arrays. Memory is the caller's.
struct sparse_rows {
    std::span<const std::int64_t> starts;
    std::span<const std::int32_t> columns; // from 0 on, strictly increasing within a row
    std::span<const float> values;         // as many; finite; a zero is an entry as any other

    std::size_t rows() const noexcept { return starts.empty() ? 0 : starts.size() - 1; }
};

// errc::data unless the rows are what is said above, with fewer columns than `columns`. The message says in which row,
// `first_row` being the number of the first.
struct first_row_and_columns {
    std::size_t first_row, columns;
};
result<void> check_rows(const sparse_rows& rows, first_row_and_columns place);

} // namespace troupe
