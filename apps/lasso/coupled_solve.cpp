#include "apps/lasso/coupled_solve.hpp"

#include <algorithm>

namespace troupe::lasso {

namespace {

// Passes over the variables in use that follow one over all, at most, and the share of its decrease at which they end.
constexpr std::size_t inner_passes_max = 20;
constexpr double inner_share = 0.05;
// Steps of conjugate gradients, and the share of the first residual's square at which they end.
constexpr std::size_t face_steps_max = 60;
constexpr double face_share = 1e-6;

class coordinate_descent {
  public:
    coordinate_descent(coupled_set& set, const penalty& p)
        : set_{set}, penalty_{p}, size_{set.values.size()} {}

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

    // Moves the variables in use towards where the objective would be smallest if they kept their signs: one that would
    // change its sign becomes 0. Returns how much smaller the objective is, and counts the products with the matrix.
    double step_on_face(std::size_t& products) {
        towards_minimum(products);
        stop_at_zero();
        const double decrease = decrease_of_step();
        if (!(decrease > 0))
            return 0;
        for (std::size_t i = 0; i < size_; ++i) {
            set_.values[i] += step_[i];
            set_.gradients[i] -= product_[i];
        }
        return decrease;
    }

    double gap(double residual_square) const {
        coefficient_sums sums;
        for (std::size_t i = 0; i < size_; ++i)
            sums.add(set_.values[i], gradient(i), penalty_.l2);
        return duality_gap(residual_square, sums, penalty_);
    }

    // Brings the gradients up to date.
    void finish() {
        for (std::size_t i = 0; i < size_; ++i)
            set_.gradients[i] = gradient(i);
        mean_change_ = 0;
    }

  private:
    double gradient(std::size_t i) const {
        return set_.gradients[i] + set_.means[i] * mean_change_;
    }

    double decrease_along(double delta, double gradient, double curvature, double before,
                          double after) const {
        return delta * gradient - curvature / 2 * delta * delta -
               penalty_.l1 * (std::abs(after) - std::abs(before)) -
               penalty_.l2 / 2 * (after * after - before * before);
    }

    // Moves variable i to where the objective is smallest along it; returns how much smaller it is.
    double move(std::size_t i) {
        const double before = set_.values[i], curvature = set_.curvatures[i], g = gradient(i);
        const double after = minimizer(g + curvature * before, curvature, penalty_);
        const double delta = after - before;
        if (delta == 0)
            return 0;
        set_.values[i] = after;
        set_.products.add_row(i, -delta, set_.gradients.data());
        mean_change_ += set_.means[i] * delta;
        return decrease_along(delta, g, curvature, before, after);
    }

    // Conjugate gradients with the diagonal as preconditioner, for the variables in use with their signs as they are: step_
    // and its product with X_S'X_S.
    void towards_minimum(std::size_t& products) {
        used_.clear();
        for (std::size_t i = 0; i < size_; ++i)
            if (set_.values[i] != 0)
                used_.push_back(i);
        step_.assign(size_, 0.0);
        product_.assign(size_, 0.0);
        std::vector<double> residual(size_), direction(size_), image(size_);
        const auto scaled = [&](std::size_t i) {
            return residual[i] / (set_.curvatures[i] + penalty_.l2);
        };
        double square = 0;
        for (const std::size_t i : used_) {
            const double value = set_.values[i];
            residual[i] = gradient(i) - std::copysign(penalty_.l1, value) - penalty_.l2 * value;
            direction[i] = scaled(i);
            square += residual[i] * direction[i];
        }
        const double enough = face_share * square;
        for (std::size_t n = 0; n < face_steps_max && square > enough; ++n, ++products) {
            multiply(direction, image);
            double curvature = 0;
            for (const std::size_t i : used_)
                curvature += direction[i] * (image[i] + penalty_.l2 * direction[i]);
            if (!(curvature > 0))
                return;
            const double length = square / curvature;
            double next = 0;
            for (std::size_t i = 0; i < size_; ++i)
                product_[i] += length * image[i];
            for (const std::size_t i : used_) {
                step_[i] += length * direction[i];
                residual[i] -= length * (image[i] + penalty_.l2 * direction[i]);
                next += residual[i] * scaled(i);
            }
            for (const std::size_t i : used_)
                direction[i] = scaled(i) + next / square * direction[i];
            square = next;
        }
    }

    // image = X_S'X_S direction, which is of the variables in use
    void multiply(const std::vector<double>& direction, std::vector<double>& image) const {
        std::ranges::fill(image, 0.0);
        double mean = 0;
        for (const std::size_t i : used_) {
            set_.products.add_row(i, direction[i], image.data());
            mean += set_.means[i] * direction[i];
        }
        for (std::size_t i = 0; i < size_; ++i)
            image[i] -= set_.means[i] * mean;
    }

    void stop_at_zero() {
        for (const std::size_t i : used_) {
            const double value = set_.values[i];
            if ((value + step_[i]) * value >= 0)
                continue;
            const double back = -value - step_[i];
            set_.products.add_row(i, back, product_.data());
            for (std::size_t j = 0; j < size_; ++j)
                product_[j] -= set_.means[j] * set_.means[i] * back;
            step_[i] = -value;
        }
    }

    double decrease_of_step() const {
        double decrease = 0;
        for (const std::size_t i : used_) {
            const double before = set_.values[i], after = before + step_[i];
            decrease += step_[i] * (gradient(i) - product_[i] / 2) -
                        penalty_.l1 * (std::abs(after) - std::abs(before)) -
                        penalty_.l2 / 2 * (after * after - before * before);
        }
        return decrease;
    }

    coupled_set& set_;
    const penalty penalty_;
    const std::size_t size_;
    double mean_change_ =
        0; // means' times what has changed since the gradients were up to date, apart from products
    std::vector<std::size_t> used_;
    std::vector<double> step_;
    std::vector<double> product_;
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
        for (std::size_t i = 0; i < inner_passes_max && last > inner_share * decrease; ++i) {
            outcome.decrease += last = descent.pass_over_used();
            ++outcome.passes;
        }
        outcome.decrease += descent.step_on_face(outcome.passes);
    } while (outcome.passes < bounds.passes);
    outcome.gap = descent.gap(bounds.residual_square);
    descent.finish();
    return outcome;
}

} // namespace troupe::lasso
