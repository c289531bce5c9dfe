#include "apps/lasso/trained.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "actors/scheduled/written_files.hpp"
#include "apps/lasso/logistic.hpp"
#include "apps/lasso/target_classes.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe::lasso {

namespace {

using scheduled::matrix_piece;
using scheduled::result_use;

error not_finite(const result_use& use) {
    return {errc::numeric, use.directory.string() + ": what it predicts on this data is too large "
                                                    "for a number; use data in the units of the "
                                                    "data that it was trained on"};
}

std::string lambda_text(const solution& s) {
    return "lambda " + scheduled::text_of(s.numbers.lambda);
}

// Goes through all rows of the data.
result<void> each_piece(const result_use& use,
                        const std::function<result<void>(const matrix_piece&)>& with) {
    for (;;) {
        auto rows = use.rows->next(use.data.rows, *use.memory);
        if (!rows)
            return rows.failure();
        if (!*rows)
            return {};
        const auto piece = scheduled::read_matrix_piece((*rows)->tensors, use.data.columns);
        if (!piece)
            return piece.failure();
        if (auto done = with(*piece); !done)
            return done;
    }
}

using proto::NumberStyle::PRECISE;

// Terms of a score: sums over rows, of each solution.
class fit {
  public:
    virtual ~fit() = default;
    virtual result<void> add(double target, std::span<const double> sums) = 0;
    // Appends the score of this solution; false if it is no number.
    virtual bool append(std::size_t s, std::vector<named_number>& to) const = 0;
};

// The fit by squared differences from the targets.
class squared_fit final : public fit {
  public:
    squared_fit(std::size_t solutions, std::optional<double> label)
        : label_{label}, errors_(solutions) {}

    result<void> add(double given, std::span<const double> predicted) override {
        const double target = label_ ? given == *label_ : given;
        ++rows_;
        const double from_mean = target - mean_;
        mean_ += from_mean / static_cast<double>(rows_);
        spread_ += from_mean * (target - mean_);
        for (std::size_t s = 0; s < predicted.size(); ++s)
            errors_[s] += (target - predicted[s]) * (target - predicted[s]);
        return {};
    }
    bool append(std::size_t s, std::vector<named_number>& to) const override {
        const double mse = errors_[s] / static_cast<double>(rows_);
        to.push_back({"mse", mse, PRECISE});
        to.push_back({"r2", r2(s), PRECISE});
        return std::isfinite(mse) && std::isfinite(spread_);
    }

  private:
    double r2(std::size_t s) const {
        if (spread_ > 0)
            return 1 - errors_[s] / spread_;
        return errors_[s] == 0 ? 1.0 : 0.0;
    }

    std::optional<double> label_;
    std::uint64_t rows_ = 0;
    double mean_ = 0, spread_ = 0; // of the targets: their mean, and the sum of squares about it
    std::vector<double> errors_;   // sums of squares
};

class logistic_fit final : public fit {
  public:
    logistic_fit(std::size_t solutions, std::optional<double> label)
        : label_{label}, losses_(solutions), right_(solutions) {}

    result<void> add(double given, std::span<const double> margins) override {
        const auto is_one = class_of(given, label_);
        if (!is_one)
            return is_one.failure();
        ++rows_;
        for (std::size_t s = 0; s < margins.size(); ++s) {
            losses_[s] += logistic_row_of(margins[s], *is_one).loss;
            right_[s] += (margins[s] > 0) == *is_one;
        }
        return {};
    }
    bool append(std::size_t s, std::vector<named_number>& to) const override {
        const auto rows = static_cast<double>(rows_);
        to.push_back({"log_loss", losses_[s] / rows, PRECISE});
        to.push_back({"accuracy", right_[s] / rows, PRECISE});
        return std::isfinite(losses_[s] / rows);
    }

  private:
    std::optional<double> label_;
    std::uint64_t rows_ = 0;
    std::vector<double> losses_;
    std::vector<double> right_; // rows whose class is the likelier one
};

std::unique_ptr<fit> make_fit(const lasso_settings& settings, std::size_t solutions) {
    if (settings.is_logistic())
        return std::make_unique<logistic_fit>(solutions, settings.label);
    return std::make_unique<squared_fit>(solutions, settings.label);
}

result<trained_lasso> open(const result_use& use, const lasso_settings& settings) {
    auto model = read_result(use.directory, use.unit_norm);
    if (!model)
        return model.failure();
    if (model->loss != settings.loss)
        return error{errc::usage, use.directory.string() +
                                      ": is of a run with loss: " + name_of(model->loss) +
                                      "; give the app file that it was made with"};
    if (auto fits = check_columns(*model, use); !fits)
        return fits.failure();
    return model;
}

} // namespace

result<void> check_columns(const trained_lasso& model, const result_use& use) {
    const auto digests =
        use.rows == nullptr ? std::vector<scheduled::data_digest>{} : use.rows->digests();
    const std::string data = digests.empty() ? "the data" : digests.front().file;
    const std::uint64_t columns = use.data.columns;
    if (columns > model.columns || (columns < model.columns && !use.data.is_sparse))
        return error{errc::usage,
                     data + " has " + counted(columns, "column") + ", but " +
                         use.directory.string() + " is of data with " +
                         std::to_string(model.columns) + "; give data with the same columns" +
                         (columns + 1 == model.columns
                              ? ", and the one that a number names by target_column beside them"
                              : "")};
    if (model.column_names.empty() || use.column_names.empty())
        return {};
    const auto [own, given] = std::ranges::mismatch(model.column_names, use.column_names);
    if (own == model.column_names.end() || given == use.column_names.end())
        return {};
    return error{errc::usage, "column " + std::to_string(own - model.column_names.begin()) +
                                  " of " + data + " is \"" + *given + "\", but \"" + *own +
                                  "\" of the data that " + use.directory.string() +
                                  " is of; give the same columns in the same order"};
}

// ---- sums ----

linear_sums::linear_sums(const trained_lasso& model, std::span<const double> offsets) {
    struct entry {
        std::int32_t column;
        coefficient of;
    };
    std::vector<entry> all;
    for (std::uint32_t s = 0; s < model.solutions.size(); ++s) {
        const solution& from = model.solutions[s];
        intercepts_.push_back(from.numbers.intercept);
        for (std::size_t i = 0; i < from.columns.size(); ++i) {
            all.push_back({from.columns[i], {s, from.values[i]}});
            const auto column = static_cast<std::size_t>(from.columns[i]);
            if (column < offsets.size()) // a sparse file may lack the last ones
                intercepts_.back() += from.values[i] * offsets[column];
        }
    }
    std::ranges::stable_sort(all, {}, &entry::column);
    for (const entry& e : all) {
        if (used_.empty() || used_.back() != e.column) {
            used_.push_back(e.column);
            starts_.push_back(coefficients_.size());
        }
        coefficients_.push_back(e.of);
    }
    starts_.push_back(coefficients_.size());
}

void linear_sums::add_column(std::size_t used, double value, std::span<double> to) const {
    for (std::size_t i = starts_[used]; i < starts_[used + 1]; ++i)
        to[coefficients_[i].solution] += coefficients_[i].value * value;
}

void linear_sums::add_dense(const matrix_piece& piece, std::size_t first,
                            std::span<double> to) const {
    for (std::size_t u = 0; u < used_.size(); ++u)
        add_column(u, piece.number(first + static_cast<std::size_t>(used_[u])), to);
}

void linear_sums::add_sparse(const matrix_piece& piece, std::size_t row,
                             std::span<double> to) const {
    auto at = used_.begin();
    const auto end = static_cast<std::size_t>(piece.starts[row + 1]);
    for (auto i = static_cast<std::size_t>(piece.starts[row]); i < end && at != used_.end(); ++i) {
        at = std::lower_bound(at, used_.end(), piece.indices[i]);
        if (at != used_.end() && *at == piece.indices[i])
            add_column(static_cast<std::size_t>(at - used_.begin()), piece.number(i), to);
    }
}

result<void> linear_sums::each_row(const matrix_piece& piece, const row_function& with) const {
    std::vector<double> sums;
    const std::size_t columns = piece.rows() > 0 ? piece.values.size() / piece.rows() : 0;
    for (std::size_t r = 0; r < piece.rows(); ++r) {
        sums = intercepts_;
        if (piece.is_sparse())
            add_sparse(piece, r, sums);
        else
            add_dense(piece, r * columns, sums);
        if (auto done = with(r, sums); !done)
            return done;
    }
    return {};
}

// ---- what the program is asked ----

result<std::vector<std::vector<named_number>>> score(const result_use& use) {
    const auto settings = read_settings(use.settings);
    if (!settings)
        return settings.failure();
    const auto model = open(use, *settings);
    if (!model)
        return model.failure();
    const linear_sums sums{*model, use.rows->offsets()};
    const auto fit = make_fit(*settings, sums.solutions());
    const auto add = [&](const matrix_piece& piece) {
        return sums.each_row(piece, [&](std::size_t row, std::span<const double> predicted) {
            return fit->add(piece.targets[row], predicted);
        });
    };
    if (auto done = each_piece(use, add); !done)
        return done.failure();
    std::vector<std::vector<named_number>> all;
    for (std::size_t s = 0; s < sums.solutions(); ++s) {
        auto& numbers = all.emplace_back();
        if (sums.solutions() > 1)
            numbers.push_back({"lambda", model->solutions[s].numbers.lambda, PRECISE});
        if (!fit->append(s, numbers))
            return not_finite(use);
    }
    return all;
}

result<void> predict(const result_use& use, scheduled::prediction_table& to) {
    const auto settings = read_settings(use.settings);
    if (!settings)
        return settings.failure();
    const auto model = open(use, *settings);
    if (!model)
        return model.failure();
    std::vector<std::string> names{"prediction"};
    if (model->solutions.size() > 1) {
        names.clear();
        std::ranges::transform(model->solutions, std::back_inserter(names), lambda_text);
    }
    if (auto begun = to.begin(names); !begun)
        return begun;
    const linear_sums sums{*model, use.rows->offsets()};
    return each_piece(use, [&](const matrix_piece& piece) {
        return sums.each_row(piece, [&](std::size_t, std::span<const double> predicted) {
            const bool is_finite =
                std::ranges::all_of(predicted, [](double x) { return std::isfinite(x); });
            if (!is_finite)
                return result<void>{not_finite(use)};
            if (!settings->is_logistic())
                return to.add({}, predicted);
            std::vector<double> probabilities(predicted.size());
            std::ranges::transform(predicted, probabilities.begin(), probability_of);
            return to.add({}, probabilities);
        });
    });
}

} // namespace troupe::lasso
