// Sparse columns: of each column the entries, in the order of their rows (CSC).
//
// See column_matrix.hpp for what they do. Memory, from a pool: 8 bytes per column, and 6 per entry of a matrix with at most
// 65,536 rows, whose numbers are two bytes each, or 8 of one with more.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/columns/column_entries.hpp"
#include "kernels/columns/column_matrix.hpp"
#include "kernels/columns/sparse_column_loops.hpp"
#include "kernels/columns/sparse_rows.hpp"
#include "kernels/tensor/memory.hpp"
#include "schemas/base/error.hpp"

namespace troupe {

// Row numbers of some entries, as they are kept. A view.
class row_number_list {
  public:
    explicit row_number_list(std::span<const std::uint16_t> numbers) noexcept : short_{numbers} {}
    explicit row_number_list(std::span<const std::int32_t> numbers) noexcept : long_{numbers} {}

    std::size_t size() const noexcept { return short_.size() + long_.size(); }
    std::int32_t operator[](std::size_t e) const noexcept {
        return short_.empty() ? long_[e] : std::int32_t{short_[e]};
    }
    // `to` has room for all; what is behind them.
    std::span<std::int32_t> copy(std::span<std::int32_t> to) const noexcept {
        std::ranges::copy(short_, to.begin());
        std::ranges::copy(long_, to.begin());
        return to.subspan(size());
    }

  private:
    std::span<const std::uint16_t> short_; // one of the two is empty
    std::span<const std::int32_t> long_;
};

// The entries of a column: entry e has the value values[e] in row rows[e]. Rows ascend.
struct sparse_column {
    row_number_list rows;
    std::span<const float> values;
};

// The three arrays.
struct sparse_memory {
    buffer_ref starts;      // int64, one more than columns
    buffer_ref row_numbers; // one per entry, as columns::sparse_view says
    buffer_ref values;      // float32, one per entry

    // For so many entries; unspecified contents. errc::exhausted where the pool has not so much left.
    static result<sparse_memory> allocate(memory_pool& pool, matrix_size size, std::size_t entries);
    // Calls f with the row numbers, which are of this type, to be written.
    template <class Function>
    auto with_rows(std::size_t rows, Function f) const {
        std::byte* const all = row_numbers->data();
        return rows <= columns::short_rows_max ? f(reinterpret_cast<std::uint16_t*>(all))
                                               : f(reinterpret_cast<std::int32_t*>(all));
    }
};

class sparse_columns final : public column_matrix {
  public:
    sparse_column column(std::size_t column) const;
    std::uint64_t all_entries() const noexcept;

    // The same columns of several matrices, whose rows follow each other in this order. The pool must outlive what is made.
    // errc::data for parts that are not what column_entries says, or of other numbers of columns; errc::exhausted where the
    // pool has not so much left.
    static result<std::unique_ptr<const sparse_columns>>
    stacked(memory_pool& pool, std::span<const column_entries> parts);

  private:
    friend class sparse_columns_builder;
    sparse_columns(matrix_size size, sparse_memory memory);

    columns::sparse_view view() const noexcept;
    std::size_t count_entries(std::size_t column) const override;
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

    const sparse_memory memory_;
    const columns::sparse_column_loops& loops_;
};

// Makes sparse columns of rows that arrive in pieces. Until all have come, their entries are kept by ranges of columns, in
// their order, in 6 bytes each and 8 for each row that has any in a range, in memory of its own that grows with them, by
// doubling, and counts against the pool's bound; then one range after the other goes where it stays, and its memory back
// to the system. So it hardly takes more than the matrix if rows have a few entries in each range.
// After an error a builder is of no further use. One thread.
class sparse_columns_builder {
  public:
    // The pool must outlive the matrix. errc::data for a size that no matrix may have (schemas/base/limits.hpp).
    static result<sparse_columns_builder> make(memory_pool& pool, matrix_size size);
    sparse_columns_builder(sparse_columns_builder&&) noexcept;
    ~sparse_columns_builder();

    // The next rows. errc::data if they are not what sparse_rows says, or too many; the message says in which row, counted
    // from 0 at the builder's first. errc::exhausted where the pool has not so much left, or the system.
    result<void> append(const sparse_rows& rows);

    std::size_t rows() const noexcept { return rows_; } // that have arrived

    // errc::data unless all rows have arrived, errc::exhausted where the pool has not so much left. The builder is empty
    // then.
    result<std::unique_ptr<const sparse_columns>> finish();

  private:
    class column_range;

    // Rows that have arrived must be within the bound of the matrix's pool, with what else is in use of it.
    struct room {
        memory_pool* pool;
        std::uint64_t held = 0; // bytes of all ranges

        result<void> check(std::size_t bytes) const; // errc::exhausted where no more fit
    };

    sparse_columns_builder(memory_pool& pool, matrix_size size);

    result<void> take_row(const sparse_rows& rows, std::size_t i);
    // To where they stay, one range after the other.
    template <class Row>
    void move_entries(const sparse_memory& to, Row* row_numbers);

    room left_;
    matrix_size size_;
    std::vector<std::unique_ptr<column_range>> ranges_; // null: without entries
    std::size_t rows_ = 0;
    std::size_t entries_ = 0;
};

} // namespace troupe
