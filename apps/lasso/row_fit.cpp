#include "apps/lasso/row_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "apps/lasso/logistic.hpp"
#include "apps/lasso/target_classes.hpp"

namespace troupe::lasso {

namespace {

// The sum of f(i) for so many i, by several sums that do not wait for each other.
template <class Function>
double sum_of(std::size_t count, Function f) {
    std::array<double, 8> sums{};
    std::size_t i = 0;
    for (; i + sums.size() <= count; i += sums.size())
        for (std::size_t k = 0; k < sums.size(); ++k)
            sums[k] += f(i + k);
    for (std::size_t k = 0; i < count; ++i, ++k)
        sums[k] += f(i);
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) +
           ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

double sum_of(const std::vector<double>& numbers) {
    return sum_of(numbers.size(), [&](std::size_t i) { return numbers[i]; });
}

error of_other_rows() {
    return {errc::protocol, "the saved residual of lasso has other sizes"};
}

class squared_rows final : public row_fit {
  public:
    squared_rows(bool has_intercept, std::optional<double> label)
        : has_intercept_{has_intercept}, label_{label} {}

    result<void> take(double target) override {
        residual_.push_back(!label_ ? target : target == *label_ ? 1.0 : 0.0);
        return {};
    }
    void begin() override { residual_sum_ = sum_of(residual_); }

    void move(const shifted_columns& columns, std::span<const std::uint32_t> changed,
              std::span<const double> deltas, double shift) override {
        std::vector<double> coefficients(deltas.size());
        std::ranges::transform(deltas, coefficients.begin(), std::negate{});
        columns.add(changed, coefficients, residual_);
        if (!has_intercept_ && !columns.is_shifted())
            return; // nothing needs the sum
        if (shift != 0)
            for (double& r : residual_)
                r -= shift;
        std::vector<double> sums(changed.size());
        columns.sums(changed, sums);
        for (std::size_t i = 0; i < changed.size(); ++i)
            residual_sum_ += coefficients[i] * sums[i];
        residual_sum_ -= shift * static_cast<double>(residual_.size());
    }

    // Changes have rounded the sum; here it is made anew.
    row_sums renew() override {
        residual_sum_ = sum_of(residual_);
        row_sums sums;
        sums.weight = static_cast<double>(residual_.size());
        sums.residual_sum = residual_sum_;
        const double mean = residual_.empty() ? 0.0 : residual_sum_ / sums.weight;
        sums.residual_square = sum_of(residual_.size(), [&](std::size_t i) {
            return (residual_[i] - mean) * (residual_[i] - mean);
        });
        return sums;
    }

    void save(scheduled::state_writer& write) const override {
        write("residual", residual_)("residual sum", std::array{residual_sum_});
    }
    result<void> load(const scheduled::saved_part& saved) override {
        const auto residual = scheduled::read_state<double>(saved, "residual");
        const auto sum = scheduled::read_state<double>(saved, "residual sum");
        if (const error* failure = scheduled::first_failure(residual, sum))
            return *failure;
        if (residual->size() != residual_.size() || sum->size() != 1)
            return of_other_rows();
        residual_.assign(residual->begin(), residual->end());
        residual_sum_ = sum->front();
        return {};
    }

  private:
    bool has_intercept_;
    std::optional<double> label_;
};

class logistic_rows final : public row_fit {
  public:
    explicit logistic_rows(std::optional<double> label) : label_{label} {}

    result<void> take(double target) override {
        const auto is_one = class_of(target, label_);
        if (!is_one)
            return is_one.failure();
        classes_.add(target, *is_one, label_);
        is_one_.push_back(*is_one);
        residual_.push_back(0);
        return {};
    }
    void begin() override {
        margins_.assign(is_one_.size(), 0.0);
        weights_.assign(is_one_.size(), 0.0);
        renew();
    }

    void move(const shifted_columns& columns, std::span<const std::uint32_t> changed,
              std::span<const double> deltas, double shift) override {
        if (changed.empty() && shift == 0)
            return;
        std::vector<double> step(rows(), shift);
        columns.add(changed, deltas, step);
        for (std::size_t i = 0; i < step.size(); ++i) {
            margins_[i] += step[i];
            residual_[i] -= weights_[i] * step[i];
        }
        intercept_ += shift;
        residual_sum_ = sum_of(residual_);
    }

    row_sums renew() override {
        row_sums sums;
        std::vector<double> losses(rows());
        for (std::size_t i = 0; i < rows(); ++i) {
            const logistic_row row = logistic_row_of(margins_[i], is_one_[i]);
            residual_[i] = row.residual;
            weights_[i] = row.weight;
            losses[i] = row.loss;
        }
        residual_sum_ = sum_of(residual_);
        sums.weight = sum_of(weights_);
        sums.residual_sum = residual_sum_;
        const double mean = residual_.empty() ? 0.0 : residual_sum_ / sums.weight;
        sums.residual_square = sum_of(rows(), [&](std::size_t i) {
            const double r = residual_[i] - weights_[i] * mean;
            return r * r / weights_[i];
        });
        sums.loss = sum_of(losses);
        sums.intercept = intercept_;
        sums.zeros = classes_.zeros;
        sums.minus = classes_.minus;
        sums.ones = classes_.ones;
        return sums;
    }

    std::span<const double> weights() const noexcept override { return weights_; }

    void save(scheduled::state_writer& write) const override {
        write("residual", residual_)("residual sum", std::array{residual_sum_});
        write("margins", margins_)("weights", weights_)("intercept", std::array{intercept_});
    }
    result<void> load(const scheduled::saved_part& saved) override {
        const auto residual = scheduled::read_state<double>(saved, "residual");
        const auto sum = scheduled::read_state<double>(saved, "residual sum");
        const auto margins = scheduled::read_state<double>(saved, "margins");
        const auto weights = scheduled::read_state<double>(saved, "weights");
        const auto intercept = scheduled::read_state<double>(saved, "intercept");
        if (const error* failure =
                scheduled::first_failure(residual, sum, margins, weights, intercept))
            return *failure;
        const auto is_weight = [](double w) { return w > 0 && w <= 1; };
        if (residual->size() != rows() || sum->size() != 1 || margins->size() != rows() ||
            weights->size() != rows() || intercept->size() != 1 ||
            !std::ranges::all_of(*weights, is_weight))
            return of_other_rows();
        residual_.assign(residual->begin(), residual->end());
        residual_sum_ = sum->front();
        margins_.assign(margins->begin(), margins->end());
        weights_.assign(weights->begin(), weights->end());
        intercept_ = intercept->front();
        return {};
    }

  private:
    std::optional<double> label_;
    std::vector<bool> is_one_;
    std::vector<double> margins_; // X b + b0
    std::vector<double> weights_; // of when the problem was made
    double intercept_ = 0;
    class_counts classes_;
};

} // namespace

std::unique_ptr<row_fit> make_row_fit(loss_kind loss, bool has_intercept,
                                      std::optional<double> label) {
    if (loss == loss_kind::logistic)
        return std::make_unique<logistic_rows>(label);
    return std::make_unique<squared_rows>(has_intercept, label);
}

} // namespace troupe::lasso
