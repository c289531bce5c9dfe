// A sparse matrix in memory, row by row. A value.
#pragma once

#include <cstdint>
#include <vector>

namespace troupe {

struct sparse_rows {
    // Row r has the entries starts[r] to starts[r + 1] - 1: rows + 1 numbers that begin with 0.
    std::vector<std::int64_t> starts{0};
    std::vector<std::int32_t> indices; // columns from 0, rising within a row
    std::vector<float> values;         // as many

    std::uint64_t rows() const noexcept { return starts.size() - 1; }
    std::uint64_t entries() const noexcept { return values.size(); }
};

} // namespace troupe
