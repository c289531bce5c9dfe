// Pieces of a data set as payloads: what a worker is dealt, in the order of rows.
//
// A piece of a matrix has four tensors:
//
//     0  starts   int64, rows + 1: where each row begins in 1 and 2; empty if the matrix is dense
//     1  indices  int32: columns, rising within a row; empty if it is dense
//     2  values   float32; of a dense matrix rows x columns, row by row
//     3  targets  float64, rows
//
// Threads: values. Errors: errc::protocol for what is not such a piece; numbers are checked by the reader of the file, and
// by whoever builds columns from it.
#pragma once

#include "actors/scheduled/payload.hpp"

namespace troupe::scheduled {

struct matrix_piece {
    std::span<const std::int64_t> starts;
    std::span<const std::int32_t> indices;
    std::span<const float> values;
    std::span<const double> targets;

    std::uint64_t rows() const noexcept { return targets.size(); }
    bool is_sparse() const noexcept { return !starts.empty(); }
};

// Views into the tensors of `piece`, with sizes that agree; `columns`: of the matrix.
result<matrix_piece> read_matrix_piece(const payload& piece, std::uint64_t columns);

} // namespace troupe::scheduled
