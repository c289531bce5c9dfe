// The entries of some sparse columns, as they are handed on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

// Some columns of one matrix: column j has the entries from starts[j] to starts[j + 1], one start more than columns.
struct column_entries {
    std::size_t rows = 0; // of the matrix
    std::span<const std::int64_t> starts;
    std::span<const std::int32_t> row_numbers; // ascending within a column
    std::span<const float> values;             // as many; finite
};

} // namespace troupe
