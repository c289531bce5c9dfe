// Which steps of a proximal Newton method are taken: those after which the objective is no larger. From others the
// coefficients go half the way back, until it is no larger than where they came from. A pure value; each scheduler has one
// of its own variables, and all decide the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace troupe::lasso {

class newton_steps {
  public:
    // Whether the objective, as a probe finds it, is that of a step that is not taken.
    bool is_too_far(double objective) const noexcept;

    // These coefficients and this intercept are where the next step begins.
    void take(const std::vector<double>& values, double intercept, double objective);
    // Half the way back from these.
    void go_back(const std::vector<double>& values, double intercept);

    bool is_going_back() const noexcept { return returns_ > 0; }
    // Where to; as long as it goes back.
    const std::vector<double>& targets() const noexcept { return targets_; }
    double target_intercept() const noexcept { return target_intercept_; }

    std::vector<double> save() const;
    // False if it is not what was saved of so many variables.
    bool load(std::span<const double> saved, std::size_t variables);

  private:
    std::vector<double> values_; // where steps begin; none before the first
    double intercept_ = 0;
    double objective_ = 0;
    std::uint32_t returns_ = 0; // since then
    std::vector<double> targets_;
    double target_intercept_ = 0;
};

} // namespace troupe::lasso
