// How well a worker's rows are fitted, in float64, and how that changes with the coefficients: one type for each loss.
//
// The residual r is that of a least squares problem in which each row has a weight w: a step d of x'b + b0 makes r to be
// r - w d. Of squares r is y - X c - c0 and all weights are 1; of other losses that problem is a model of the loss about the
// coefficients at which it was made last (logistic.hpp).
//
// Threads, ownership: a value of one worker. Errors: errc::data for targets that the loss does not take; errc::protocol for
// a saved state that is of other rows.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "actors/scheduled/named_numbers.hpp"
#include "apps/lasso/messages.hpp"
#include "apps/lasso/settings.hpp"
#include "apps/lasso/shifted_columns.hpp"
#include "schemas/base/error.hpp"

namespace troupe::lasso {

class row_fit {
  public:
    virtual ~row_fit() = default;

    virtual result<void> take(double target) = 0; // of the next row; finite
    virtual void begin() = 0;                     // they are all there
    // Coefficients have changed by these, and the intercept by `shift`.
    virtual void move(const shifted_columns& columns, std::span<const std::uint32_t> changed,
                      std::span<const double> deltas, double shift) = 0;
    // Makes the problem anew about where it is. What it sums up is of then.
    virtual row_sums renew() = 0;

    virtual void save(scheduled::state_writer& write) const = 0;
    virtual result<void> load(const scheduled::saved_part& saved) = 0;

    std::span<const double> residual() const noexcept { return residual_; }
    double residual_sum() const noexcept { return residual_sum_; }
    // Weights of the problem, as it was made last; none if they are all 1.
    virtual std::span<const double> weights() const noexcept { return {}; }
    std::size_t rows() const noexcept { return residual_.size(); }

  protected:
    std::vector<double> residual_;
    double residual_sum_ = 0;
};

// `label`: targets are 1 where they are this number, and 0 elsewhere.
std::unique_ptr<row_fit> make_row_fit(loss_kind loss, bool has_intercept,
                                      std::optional<double> label);

} // namespace troupe::lasso
