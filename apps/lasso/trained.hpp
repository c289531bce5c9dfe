// A result of the program "lasso" (result_files.hpp), read again: for predictions, and for how well it fits data.
//
//     const auto model = read_result(folder, false);
//     const linear_sums sums{*model};
//     sums.each_row(piece, [](std::size_t row, std::span<const double> predicted) { ... });
//
// Files may be damaged, of another program, or written by others: all is checked as it is read, and no size is believed
// before the length of a file confirms it.
//
// Threads: values; reading blocks on files. Errors: errc::data "FILE: ..." for what is damaged; errc::usage for a folder
// that is of no such run, and for data that it does not fit; errc::io where a file cannot be read.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "actors/scheduled/data_pieces.hpp"
#include "actors/scheduled/program.hpp"
#include "apps/lasso/settings.hpp"
#include "apps/lasso/solutions.hpp"
#include "schemas/base/error.hpp"

namespace troupe::lasso {

struct trained_lasso {
    std::uint64_t columns = 0; // of the data that it was trained on
    // At least one. Of their numbers lambda and intercept are set; values are those of the columns as they are in files.
    std::vector<solution> solutions;
    std::vector<std::string> column_names; // empty: they had none
    loss_kind loss = loss_kind::squared;
};
// `is_scaled`: the app file says data.scale: unit_norm.
result<trained_lasso> read_result(const std::filesystem::path& folder, bool is_scaled);

// Whether it can be used on this data: the same columns, by number and by name; sparse data may have fewer.
result<void> check_columns(const trained_lasso& model, const scheduled::result_use& use);

// X b + b0 for every solution at once, in float64. Rows are the data's less these offsets (piece_source::offsets).
class linear_sums {
  public:
    linear_sums(const trained_lasso& model, std::span<const double> offsets);

    std::size_t solutions() const noexcept { return intercepts_.size(); }
    // Calls `with` for each row of the piece, in order, with a number for each solution; ends at its first failure.
    using row_function = std::function<result<void>(std::size_t row, std::span<const double>)>;
    result<void> each_row(const scheduled::matrix_piece& piece, const row_function& with) const;

  private:
    void add_sparse(const scheduled::matrix_piece& piece, std::size_t row,
                    std::span<double> to) const;
    // `first`: the entry that the row begins with.
    void add_dense(const scheduled::matrix_piece& piece, std::size_t first,
                   std::span<double> to) const;
    void add_column(std::size_t used, double value, std::span<double> to) const;

    struct coefficient {
        std::uint32_t solution = 0;
        double value = 0;
    };
    std::vector<double> intercepts_;
    std::vector<std::int32_t> used_;        // columns with any coefficient, rising
    std::vector<std::size_t> starts_;       // of each, in:
    std::vector<coefficient> coefficients_; // column by column
};

// How well each solution fits the data: "mse" and "r2", or "log_loss" and "accuracy" of the logistic loss; and, if there are
// several, "lambda". As scikit-learn has it, R2 of targets that are all the same is 1 if they are met exactly, else 0.
result<std::vector<std::vector<named_number>>> score(const scheduled::result_use& use);

// A column for each solution: X b + b0, or of the logistic loss the probability of class 1.
result<void> predict(const scheduled::result_use& use, scheduled::prediction_table& to);

} // namespace troupe::lasso
