// Which lambda a run is at. A pure value.
#pragma once

#include <cmath>
#include <cstdint>

#include "apps/lasso/penalty.hpp"
#include "apps/lasso/settings.hpp"

namespace troupe::lasso {

class penalty_path {
  public:
    penalty_path(const lasso_settings& settings, double rows) : settings_{settings}, rows_{rows} {}

    // `dual_norm`: max |x_j'y|.
    void begin(double dual_norm) noexcept { lambda_max_ = dual_norm / (rows_ * settings_.ratio); }
    void restore(double lambda_max, std::uint32_t at) noexcept {
        lambda_max_ = lambda_max;
        at_ = at;
    }

    bool is_last() const noexcept { return at_ + 1 >= settings_.count; }
    void advance() noexcept { ++at_; }

    std::uint32_t at() const noexcept { return at_; }
    std::uint32_t left() const noexcept { return settings_.count - 1 - at_; } // behind this one
    double lambda_max() const noexcept { return lambda_max_; }
    double lambda() const noexcept { return lambda_at(at_); }
    // For sums over rows that are not divided by their number.
    penalty weights() const noexcept { return weights_at(at_); }
    // The ones after this one, or of the last one.
    penalty next_weights() const noexcept { return weights_at(is_last() ? at_ : at_ + 1); }

  private:
    double lambda_at(std::uint32_t at) const noexcept {
        if (settings_.penalty == penalty_kind::lambda)
            return settings_.size;
        const double share = settings_.penalty == penalty_kind::path
                                 ? std::pow(settings_.size, at / (settings_.count - 1.0))
                                 : settings_.size;
        return lambda_max_ * share;
    }
    penalty weights_at(std::uint32_t at) const noexcept {
        return {rows_ * lambda_at(at) * settings_.ratio,
                rows_ * lambda_at(at) * (1 - settings_.ratio)};
    }

    lasso_settings settings_;
    double rows_;
    double lambda_max_ = 0; // where all coefficients are 0, and at no smaller one
    std::uint32_t at_ = 0;
};

} // namespace troupe::lasso
