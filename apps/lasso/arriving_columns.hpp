// Columns whose rows arrive in pieces, as float32 and what that leaves of their numbers. Where it leaves nothing there is no
// second matrix.
//
//     arriving_columns columns{pool, {rows, columns}, false};
//     columns.take(count, values, remainders);                // for each piece
//     auto split = columns.finish();
//
// Memory: that of the builders; as much again of dense columns once a piece has remainders, and of sparse ones for the
// entries that have one. One thread. Errors: of the builders (dense_columns.hpp, sparse_columns.hpp).
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "kernels/columns/dense_columns.hpp"
#include "kernels/columns/sparse_columns.hpp"

namespace troupe::lasso {

// The numbers are the sums of both, in float64.
struct split_columns {
    std::unique_ptr<const column_matrix> values;
    std::unique_ptr<const column_matrix> remainders; // null: all are 0
};

class arriving_columns {
  public:
    // The pool outlives it, and what it makes.
    arriving_columns(memory_pool& memory, matrix_size size, bool is_sparse)
        : memory_{&memory}, size_{size}, is_sparse_{is_sparse} {}

    // The next rows, dense or sparse. `remainders`: as many as values, or none if all are 0.
    result<void> take(std::size_t rows, std::span<const float> values,
                      std::span<const float> remainders);
    result<void> take(const sparse_rows& rows, std::span<const float> remainders);
    // All have come: dense_columns or sparse_columns, both of them. It is empty then.
    result<split_columns> finish();

  private:
    memory_pool* memory_;
    matrix_size size_;
    bool is_sparse_;
    std::size_t rows_ = 0;
    std::optional<dense_columns_builder> dense_, dense_remainders_;
    std::optional<sparse_columns_builder> sparse_, sparse_remainders_;
};

} // namespace troupe::lasso
