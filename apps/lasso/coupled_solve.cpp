#include "apps/lasso/coupled_solve.hpp"

namespace troupe::lasso {

namespace {

// Passes over the variables in use that follow one over all, at most, and the share of its decrease at which they end.
constexpr std::size_t inner_passes_max = 20;
constexpr double inner_share = 0.05;

class coordinate_descent {
  public:
    coordinate_descent(coupled_set& set, const penalty& p)
        : set_{set}, penalty_{p}, size_{set.values.size()} {}

    // Moves variable i to where the objective is smallest along it; returns how much smaller it is.
    double move(std::size_t i) {
        const double* row = set_.gram.data() + i * size_;
        const double before = set_.values[i], gradient = set_.gradients[i], curvature = row[i];
        const double after = minimizer(gradient + curvature * before, curvature, penalty_);
        const double delta = after - before;
        if (delta == 0)
            return 0;
        set_.values[i] = after;
        double* gradients = set_.gradients.data();
        for (std::size_t j = 0; j < size_; ++j)
            gradients[j] -= row[j] * delta;
        return delta * gradient - curvature / 2 * delta * delta -
               penalty_.l1 * (std::abs(after) - std::abs(before)) -
               penalty_.l2 / 2 * (after * after - before * before);
    }

    double pass_over_all() {
        double decrease = 0;
        for (std::size_t i = 0; i < size_; ++i)
            decrease += move(i);
        return decrease;
    }
    double pass_over_used() {
        double decrease = 0;
        for (std::size_t i = 0; i < size_; ++i)
            if (set_.values[i] != 0)
                decrease += move(i);
        return decrease;
    }

    double gap(double residual_square) const {
        coefficient_sums sums;
        for (std::size_t i = 0; i < size_; ++i)
            sums.add(set_.values[i], set_.gradients[i], penalty_.l2);
        return duality_gap(residual_square, sums, penalty_);
    }

  private:
    coupled_set& set_;
    const penalty penalty_;
    const std::size_t size_;
};

} // namespace

solve_outcome solve(coupled_set& set, const penalty& p, const solve_bounds& bounds) {
    coordinate_descent descent{set, p};
    solve_outcome outcome;
    do {
        const double decrease = descent.pass_over_all();
        outcome.decrease += decrease;
        ++outcome.passes;
        if (decrease <= 0 || descent.gap(bounds.residual_square) <= bounds.gap)
            break;
        double last = decrease;
        for (std::size_t i = 0; i < inner_passes_max && last > inner_share * decrease &&
                                outcome.passes < bounds.passes;
             ++i, ++outcome.passes)
            outcome.decrease += last = descent.pass_over_used();
    } while (outcome.passes < bounds.passes);
    outcome.gap = descent.gap(bounds.residual_square);
    return outcome;
}

} // namespace troupe::lasso
