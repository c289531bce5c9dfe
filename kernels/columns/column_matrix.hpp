// The columns of a data matrix, for methods that move a few coefficients at a time: coordinate descent for Lasso, elastic
// net, ridge and logistic regression, and Newton steps of blocks of coefficients.
//
// A worker holds some rows of the data matrix. Everything here is over these rows alone: who has several workers adds up
// what they return. With X of (rows, columns), S and T sets of its columns, r one number per row and c one per column of
// S, the operations are
//
//     products   X_S' r           gradients of coefficients from residuals
//     add        r += X_S c       residuals after coefficients have changed by c
//     gram       X_S' X_T         how coefficients act on one another
//     squares    x_j' x_j         the curvature along one coefficient
//     sums       x_j' 1           to centre columns, or to fit an intercept
//     scaled     diag(f) X        a matrix of its own, for weighted least squares: its gram is X' diag(f)^2 X
//
// Values are float32, as they were read; vectors and results are float64. Two forms keep them: dense_columns.hpp and
// sparse_columns.hpp; reference.hpp defines every operation in plain loops.
//
// Errors: builders check what comes from outside and return errors; once a matrix is made, no operation but `scaled` can
// fail, which takes memory. A set
// that names columns which the matrix does not have (see has()), or a span of another length than is written here, is a bug.
// A column may be in a set more than once.
//
// Precision. Values are widened in registers and summed in float64: `products`, `add`, `squares`, `sums` and the `gram` of
// sparse columns have errors below 1e-14 |x_j| |r|, and their bits are the same on every machine. `gram` of dense columns
// multiplies and adds in float32 along 1024 rows, which the lanes of a register share, and in float64 beyond: its error is
// about 1e-8 |x_i| |x_j| for many rows and below 3e-7 for few, and its last bits depend on the instruction set; of whole
// numbers of at most 256 it is exact.
// Each number depends on its own columns (and r) alone, and not on which others are in the set.
//
// Threads: a matrix never changes once it is made; any number of threads may use it. A column_workspace belongs to one
// thread at a time. Each operation runs in the thread that calls it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/columns/column_list.hpp"
#include "kernels/tensor/memory.hpp"
#include "schemas/base/error.hpp"

namespace troupe {

struct matrix_size {
    std::size_t rows = 0, columns = 0;

    friend bool operator==(const matrix_size&, const matrix_size&) noexcept = default;
};

// Some columns of a matrix, in an order. A value that refers to the list, which must outlive it.
class column_set {
  public:
    column_set(std::span<const std::uint32_t> list) noexcept : list_{list.data(), 0, list.size()} {}
    column_set(const std::vector<std::uint32_t>& list) noexcept : column_set{std::span{list}} {}

    // `count` columns from `first` on.
    static column_set range(std::size_t first, std::size_t count) noexcept {
        column_set set;
        set.list_ = {nullptr, first, count};
        return set;
    }

    std::size_t size() const noexcept { return list_.count; }
    std::size_t operator[](std::size_t i) const noexcept {
        return list_.numbers == nullptr ? list_.first + i : list_.numbers[i];
    }
    column_list list() const noexcept { return list_; } // for the loops

  private:
    column_set() noexcept : list_{nullptr, 0, 0} {}

    column_list list_;
};

// The sets S and T of X_S' X_T.
struct column_pairs {
    column_set left, right;
};

// Memory that `gram` uses and leaves for its next call: about a megabyte. What is in it is the matrices' own business.
struct column_workspace {
    struct alignas(64) line {
        float values[16] = {};
    };
    std::vector<line> lines; // zeros between two calls
    std::vector<std::int64_t> places;
    std::vector<double> sums;
    std::vector<std::uint32_t> order;
};

class column_matrix {
  public:
    virtual ~column_matrix() = default;
    column_matrix(const column_matrix&) = delete;
    column_matrix& operator=(const column_matrix&) = delete;

    std::size_t rows() const noexcept { return size_.rows; }
    std::size_t columns() const noexcept { return size_.columns; }
    column_set all() const noexcept { return column_set::range(0, size_.columns); }
    // Whether all columns of the set are this matrix's. To be asked of sets that come from outside.
    bool has(const column_set& set) const noexcept;

    // Whether `gram` is exact, for any of its columns, unless sums are above 2^53.
    virtual bool has_exact_gram() const noexcept { return false; }
    // How many entries of a column the operations read: what their time is proportional to. All rows of a dense column.
    std::size_t entries(std::size_t column) const;
    // Writes all values of a column, one per row.
    void copy(std::size_t column, std::span<float> values) const;

    // products[i] = the column set[i] times r, which has one number per row
    void products(const column_set& set, std::span<const double> r,
                  std::span<double> products) const;
    // r += coefficients[i] * the column set[i], for one i after the other; columns whose coefficient is 0 are not read
    void add(const column_set& set, std::span<const double> coefficients,
             std::span<double> r) const;
    // block[i * |T| + j] = the column left[i] times the column right[j]
    void gram(const column_pairs& pairs, std::span<double> block, column_workspace& memory) const;
    // The same for the set with itself, in half the time; symmetric to the bit.
    void gram(const column_set& set, std::span<double> block, column_workspace& memory) const;
    // squares[i] = the sum of the squares of the column set[i]
    void squares(const column_set& set, std::span<double> squares) const;
    // sums[i] = the sum of the column set[i]
    void sums(const column_set& set, std::span<double> sums) const;
    // The same columns with the values of each row times its factor, which is between -1 and 1; rounded to float32. The pool
    // must outlive it. errc::exhausted where the pool has not so much left.
    result<std::unique_ptr<const column_matrix>> scaled(memory_pool& pool,
                                                        std::span<const float> factors) const;

  protected:
    explicit column_matrix(matrix_size size) noexcept : size_{size} {}

  private:
    // As the public ones; arguments are checked.
    virtual std::size_t count_entries(std::size_t column) const = 0;
    virtual void write(std::size_t column, float* values) const = 0;
    virtual void multiply(column_list set, const double* r, double* products) const = 0;
    virtual void add_columns(column_list set, const double* coefficients, double* r) const = 0;
    virtual void multiply_pairs(column_list left, column_list right, double* block,
                                column_workspace& memory) const = 0;
    virtual void multiply_among(column_list set, double* block, column_workspace& memory) const = 0;
    virtual void add_squares(column_list set, double* squares) const = 0;
    virtual void add_values(column_list set, double* sums) const = 0;
    virtual result<std::unique_ptr<const column_matrix>> scale(memory_pool& pool,
                                                               const float* factors) const = 0;

    const matrix_size size_;
};

} // namespace troupe
