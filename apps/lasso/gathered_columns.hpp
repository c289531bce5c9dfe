// Sparse columns of all rows that a scheduler has gathered from the workers, instead of products of columns with one
// another, where these would be more numbers. Each column is asked for once while it is kept.
//
//     const auto asked = columns.missing(needed);
//     ...
//     columns.keep(asked, parts);                                        // when they have come, of all workers
//     auto gathered = columns.find(needed, scale);
//
// A value of one thread; the pool outlives it, and what find returns is valid until the columns are changed. Errors:
// errc::protocol for columns that have not come, or not as asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "actors/scheduled/program.hpp"
#include "kernels/columns/column_entries.hpp"
#include "kernels/columns/column_matrix.hpp"
#include "schemas/base/error.hpp"

namespace troupe {
class sparse_columns;
}

namespace troupe::lasso {

// A column, and what it is divided by.
class gathered_column {
  public:
    gathered_column(const column_matrix& matrix, std::size_t at, double scale)
        : matrix_{&matrix}, at_{at}, scale_{scale} {}

    std::size_t rows() const noexcept { return matrix_->rows(); }
    std::size_t entries() const { return matrix_->entries(at_); }
    // With a number per row.
    double product(std::span<const double> r) const {
        double product = 0;
        matrix_->products(column_set::range(at_, 1), r, {&product, 1});
        return product / scale_;
    }
    // r += coefficient * the column
    void add(double coefficient, std::span<double> r) const {
        const double c = coefficient / scale_;
        matrix_->add(column_set::range(at_, 1), {&c, 1}, r);
    }

  private:
    const column_matrix* matrix_;
    std::size_t at_;
    double scale_;
};

class gathered_columns {
  public:
    gathered_columns(memory_pool& pool, std::size_t rows) : pool_{&pool}, rows_{rows} {}

    // The columns among these that are not there, rising, each once.
    std::vector<std::int32_t> missing(std::span<const std::int32_t> columns) const;
    // Keeps what has come of `missing` columns: a part for each worker, in their order.
    result<void> keep(std::span<const std::int32_t> columns, std::span<const column_entries> parts);
    void clear();

    // In this order. `scale(column)`: what the column is divided by.
    result<std::vector<gathered_column>>
    find(std::span<const std::int32_t> columns,
         const std::function<double(std::int32_t)>& scale) const;

    std::uint64_t entries() const noexcept { return entries_; }

    // Appends all that is kept: numbers of columns, where each begins, rows and values.
    result<void> save(memory_pool& memory, scheduled::saved_part& to) const;
    // `columns`: of the matrix.
    result<void> load(const scheduled::saved_part& saved, std::uint64_t columns);

  private:
    struct place {
        std::size_t batch = 0, at = 0;
    };

    memory_pool* pool_;
    std::size_t rows_;
    std::uint64_t entries_ = 0;
    std::vector<std::shared_ptr<const sparse_columns>> batches_; // as they came
    std::unordered_map<std::int32_t, place> places_;
};

} // namespace troupe::lasso
