// Dense columns: each column's values lie one after the other (column-major).
//
// See column_matrix.hpp for what they do. Memory: 4 bytes per value, and at most 124 more per column, from a pool.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "kernels/columns/column_matrix.hpp"
#include "kernels/columns/dense_column_loops.hpp"
#include "kernels/columns/gram_loops.hpp"
#include "kernels/tensor/memory.hpp"
#include "schemas/base/error.hpp"

namespace troupe {

class dense_columns final : public column_matrix {
  public:
    // A column's values, one per row; behind them there are zeros up to a multiple of 16 rows. Begins at a multiple of 64
    // bytes.
    std::span<const float> values(std::size_t column) const;
    // If all values are whole numbers of at most 256: brightnesses, counts, or whether something is so.
    bool has_exact_gram() const noexcept override { return has_exact_gram_; }

  private:
    friend class dense_columns_builder;
    dense_columns(matrix_size size, std::size_t stride, buffer_ref memory);

    columns::dense_view view() const noexcept;
    std::size_t count_entries(std::size_t) const override { return rows(); }
    void write(std::size_t column, float* values) const override;
    void multiply(column_list set, const double* r, double* products) const override;
    void add_columns(column_list set, const double* coefficients, double* r) const override;
    void multiply_pairs(column_list left, column_list right, double* block,
                        column_workspace& memory) const override;
    void multiply_among(column_list set, double* block, column_workspace& memory) const override;
    void add_squares(column_list set, double* squares) const override;
    void add_values(column_list set, double* sums) const override;
    result<std::unique_ptr<const column_matrix>> scale(memory_pool& pool,
                                                       const float* factors) const override;

    const std::size_t stride_; // floats from column to column
    const buffer_ref memory_;
    const bool has_exact_gram_;
    const columns::dense_column_loops& loops_;
    const columns::gram_loops& gram_loops_;
};

// Makes dense columns of rows that arrive in pieces: the values of a piece go where they stay, so that nothing is held
// twice. After an error a builder is of no further use. One thread.
class dense_columns_builder {
  public:
    // The pool must outlive the matrix. errc::data for a size that no matrix may have (schemas/base/limits.hpp),
    // errc::exhausted where the pool has not so much left.
    static result<dense_columns_builder> make(memory_pool& pool, matrix_size size);

    // The next rows: `rows` times size.columns values, row after row. errc::data if there are not so many values, too many
    // rows, or a value that is infinite or NaN; the message says in which row, counted from 0 at the builder's first.
    result<void> append(std::size_t rows, std::span<const float> values);

    std::size_t rows() const noexcept { return rows_; } // that have arrived

    // errc::data unless all rows have arrived. The builder is empty then.
    result<std::unique_ptr<const dense_columns>> finish();

  private:
    dense_columns_builder(matrix_size size, std::size_t stride, buffer_ref memory);

    float* column(std::size_t column) const noexcept;

    matrix_size size_;
    std::size_t stride_;
    buffer_ref memory_;
    std::size_t rows_ = 0;
};

} // namespace troupe
