#include "apps/lasso/newton_steps.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::lasso {

namespace {

// A direction in which the objective falls has a step that is short enough; where rounding hides that, any will do.
constexpr std::uint32_t returns_max = 40;
constexpr double rounding = 1e-13;            // of an objective, relative
constexpr std::size_t saved_step_numbers = 4; // intercept, objective, returns, target_intercept

} // namespace

bool newton_steps::is_too_far(double objective) const noexcept {
    return !values_.empty() && returns_ < returns_max &&
           !(objective <= objective_ + rounding * std::abs(objective_));
}

void newton_steps::take(const std::vector<double>& values, double intercept, double objective) {
    values_ = values;
    intercept_ = intercept;
    objective_ = objective;
    returns_ = 0;
    targets_.clear();
}

void newton_steps::go_back(const std::vector<double>& values, double intercept) {
    ++returns_;
    targets_.resize(values.size());
    std::ranges::transform(values_, values, targets_.begin(),
                           [](double from, double to) { return from + (to - from) / 2; });
    target_intercept_ = intercept_ + (intercept - intercept_) / 2;
}

std::vector<double> newton_steps::save() const {
    std::vector<double> saved{intercept_, objective_, static_cast<double>(returns_),
                              target_intercept_};
    saved.insert(saved.end(), values_.begin(), values_.end());
    saved.insert(saved.end(), targets_.begin(), targets_.end());
    return saved;
}

bool newton_steps::load(std::span<const double> saved, std::size_t variables) {
    if (saved.size() < saved_step_numbers ||
        !std::ranges::all_of(saved, [](double x) { return std::isfinite(x); }) ||
        !(saved[2] >= 0 && saved[2] <= returns_max))
        return false;
    const auto rest = saved.subspan(saved_step_numbers);
    const bool is_back = saved[2] > 0;
    if (rest.size() != (is_back ? 2 * variables : variables) && !(rest.empty() && !is_back))
        return false;
    *this = {};
    intercept_ = saved[0];
    objective_ = saved[1];
    returns_ = static_cast<std::uint32_t>(saved[2]);
    target_intercept_ = saved[3];
    const std::size_t each = rest.empty() ? 0 : variables;
    values_.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(each));
    targets_.assign(rest.begin() + static_cast<std::ptrdiff_t>(each), rest.end());
    return true;
}

} // namespace troupe::lasso
