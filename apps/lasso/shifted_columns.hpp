// A worker's columns as they are in the file, to float64: kept as float32 with what that leaves of each value in a matrix of
// its own, where it leaves anything, and some of them without a number that all their values are near. What it returns is of
// the whole numbers, but for `gram`, which is of the float32 values: it says how coefficients act on one another, and errors
// of it are found and mended as gradients follow from `products`.
//
// One thread, as it has memory of its own. Errors: of the builders.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "apps/lasso/arriving_columns.hpp"
#include "kernels/columns/column_matrix.hpp"

namespace troupe::lasso {

// A column is shifted if its mean is so many times its standard deviation.
inline constexpr double shifted_ratio = 4;

class shifted_columns {
  public:
    // As they are. `keeps_sums`: the sums of all columns, 8 bytes each, since they are asked for again and again.
    explicit shifted_columns(split_columns columns, bool keeps_sums = false);
    // Dense ones, shifted where that helps; then all are copied once. Keeps the sums.
    static result<shifted_columns> of_dense(memory_pool& memory, split_columns columns);

    // These columns with the values of each row times the root of its weight, which is between 0 and 1: for weighted least
    // squares. Sums and squares are weighted, x'w and x'Wx, and gram is X'WX; squares are of the float32 values. Takes as
    // much memory again, but for remainders.
    result<shifted_columns> weighted(memory_pool& memory, std::span<const double> weights) const;

    std::size_t rows() const noexcept { return split_.values->rows(); }
    bool has(const column_set& set) const noexcept { return split_.values->has(set); }
    bool is_shifted() const noexcept { return !shifts_.empty(); }
    bool has_exact_gram() const noexcept {
        return !is_shifted() && !split_.remainders && split_.values->has_exact_gram();
    }
    // As they are kept, without remainders.
    const column_matrix& kept() const noexcept { return *split_.values; }

    // As column_matrix has them. `residual_sum` is the sum of r.
    void sums(const column_set& set, std::span<double> sums) const;
    void squares(const column_set& set, std::span<double> squares) const;
    void products(const column_set& set, std::span<const double> r, double residual_sum,
                  std::span<double> products) const;
    void add(const column_set& set, std::span<const double> coefficients,
             std::span<double> r) const;
    void gram(const column_set& set, std::span<double> block, column_workspace& memory) const;
    void gram(const column_pairs& pairs, std::span<double> block, column_workspace& memory) const;

  private:
    void add_shifts(const column_pairs& pairs, std::span<double> block) const;
    // Adds what the remainders add to the squares.
    void add_remainders(const column_set& set, std::span<double> squares) const;

    split_columns split_;
    double weight_ = 0;          // of all rows: their number, unless they are weighted
    std::vector<double> shifts_; // of each column, 0 of most; empty: of none
    // Sums of the columns as they are kept, with remainders. There if any is shifted, or if they are weighted, or asked for
    // often.
    std::vector<double> kept_sums_;
};

} // namespace troupe::lasso
