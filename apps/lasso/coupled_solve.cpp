#include "apps/lasso/coupled_solve.hpp"

#include <algorithm>
#include <numeric>

namespace troupe::lasso {

namespace {

// How much is done between two passes over all variables: passes over those in use that follow one over all, at most, and
// the share of its decrease at which they end; steps of conjugate gradients, and the share of the first residual's square
// at which they end.
struct effort {
    std::size_t inner_passes_max = 0;
    double inner_share = 0;
    std::size_t face_steps_max = 0;
    double face_share = 0;
};

// Variables of a factor, at most: 31 MB with the room that it keeps.
constexpr std::size_t factor_size_max = 1500;

// Effects of the columns of a set on its gradients, apart from their means. A combination is X_S times one number for each
// variable.
class by_products {
  public:
    static constexpr bool are_products = true;

    explicit by_products(coupled_set& set) : set_{set}, image_(set.values.size()) {}

    // Little if a factor may follow, which makes steps exact.
    effort per_pass() const {
        const bool is_factored = set_.products.is_dense() && image_.size() <= factor_size_max;
        return is_factored ? effort{8, 0.1, 20, 1e-2} : effort{10, 0.05, 30, 1e-2};
    }

    double gradient(std::size_t i) const { return set_.gradients[i]; }
    void move(std::size_t i, double delta) {
        set_.products.add_row(i, -delta, set_.gradients.data());
    }
    // Combines some variables; the others' numbers are 0.
    void combine(const std::vector<std::size_t>& some, const std::vector<double>& numbers) {
        std::ranges::fill(image_, 0.0);
        for (const std::size_t i : some)
            set_.products.add_row(i, numbers[i], image_.data());
    }
    // Column i times the last combination.
    double product(std::size_t i) const { return image_[i]; }
    // Moves all variables by the numbers of the last combination.
    void move_by_combination() {
        for (std::size_t i = 0; i < image_.size(); ++i)
            set_.gradients[i] -= image_[i];
    }

  private:
    coupled_set& set_;
    std::vector<double> image_;
};

// Here every number is as many products as the column has entries, so that few steps are worth it.
class by_columns {
  public:
    static constexpr bool are_products = false;

    explicit by_columns(gathered_set& set)
        : set_{set}, moved_(set.columns.empty() ? 0 : set.columns.front().rows()),
          combination_(moved_.size()) {}

    effort per_pass() const { return {5, 0.2, 20, 0.03}; }

    double gradient(std::size_t i) const {
        return set_.gradients[i] - set_.columns[i].product(moved_);
    }
    void move(std::size_t i, double delta) { set_.columns[i].add(delta, moved_); }
    void combine(const std::vector<std::size_t>& some, const std::vector<double>& numbers) {
        std::ranges::fill(combination_, 0.0);
        for (const std::size_t i : some)
            set_.columns[i].add(numbers[i], combination_);
    }
    double product(std::size_t i) const { return set_.columns[i].product(combination_); }
    void move_by_combination() {
        std::ranges::transform(moved_, combination_, moved_.begin(), std::plus{});
    }

  private:
    gathered_set& set_;
    std::vector<double> moved_; // X_S times what has changed
    std::vector<double> combination_;
};

template <class Set, class Columns>
class coordinate_descent {
  public:
    coordinate_descent(Set& set, const penalty& p, face_memory& memory)
        : set_{set}, columns_{set}, penalty_{p}, memory_{memory}, size_{set.values.size()} {}

    double pass_over_all() {
        double decrease = 0;
        for (std::size_t i = 0; i < size_; ++i)
            decrease += move(i);
        return decrease;
    }
    // Then a step on the face is exact.
    bool has_factor() const noexcept { return memory_.factor.size() > 0; }
    // Between two of these.
    double pass_over_used(double decrease_of_all, std::size_t& passes) {
        const effort e = columns_.per_pass();
        double decrease = 0, last = decrease_of_all;
        for (std::size_t n = 0; n < e.inner_passes_max && last > e.inner_share * decrease_of_all;
             ++n, ++passes) {
            last = 0;
            for (std::size_t i = 0; i < size_; ++i)
                if (set_.values[i] != 0)
                    last += move(i);
            decrease += last;
        }
        return decrease;
    }

    // Moves the variables in use towards where the objective would be smallest if they kept their signs: one that would
    // change its sign becomes 0. Returns how much smaller the objective is, and counts the products with the matrix.
    double step_on_face(std::size_t& products) {
        towards_minimum(products);
        stop_at_zero();
        multiply(step_);
        ++products;
        const double decrease = decrease_of_step();
        if (!(decrease > 0))
            return 0;
        for (const std::size_t i : used_)
            set_.values[i] += step_[i];
        columns_.move_by_combination();
        mean_change_ += mean_;
        return decrease;
    }

    double gap(double residual_square) const {
        coefficient_sums sums;
        for (std::size_t i = 0; i < size_; ++i)
            sums.add(set_.values[i], gradient(i), penalty_.l2);
        return duality_gap(residual_square, sums, penalty_);
    }

    // The gradients as they are now.
    std::vector<double> gradients() const {
        std::vector<double> gradients(size_);
        for (std::size_t i = 0; i < size_; ++i)
            gradients[i] = gradient(i);
        return gradients;
    }

  private:
    double gradient(std::size_t i) const {
        return columns_.gradient(i) + set_.means[i] * mean_change_;
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
        columns_.move(i, delta);
        mean_change_ += set_.means[i] * delta;
        return decrease_along(delta, g, curvature, before, after);
    }

    // For the variables in use with their signs as they are: step_.
    void towards_minimum(std::size_t& products) {
        used_.clear();
        for (std::size_t i = 0; i < size_; ++i)
            if (set_.values[i] != 0)
                used_.push_back(i);
        step_.assign(size_, 0.0);
        start_.resize(size_);
        std::vector<double> residual(size_);
        for (const std::size_t i : used_) {
            const double value = set_.values[i];
            start_[i] = gradient(i);
            residual[i] = start_[i] - std::copysign(penalty_.l1, value) - penalty_.l2 * value;
        }
        if constexpr (Columns::are_products)
            if (is_factor_worth_it())
                return by_factor(residual, products);
        by_conjugate_gradients(std::move(residual), products);
    }

    // The factor, once steps have cost as much as it takes to make.
    bool is_factor_worth_it() const {
        return set_.products.is_dense() && used_.size() <= factor_size_max &&
               (memory_.factor.size() > 0 || memory_.step_work > face_factor::work(used_.size()));
    }

    void by_factor(const std::vector<double>& residual, std::size_t& products) {
        if (memory_.l2 != penalty_.l2)
            memory_.factor = {};
        memory_.l2 = penalty_.l2;
        double work = memory_.factor.follow(used_, [this](std::size_t i, std::size_t j) {
            return set_.coupling(i, j) + (i == j ? penalty_.l2 : 0.0);
        });
        std::vector<double> numbers;
        for (const std::size_t i : memory_.factor.variables())
            numbers.push_back(residual[i]);
        work += memory_.factor.solve(numbers);
        for (std::size_t k = 0; k < numbers.size(); ++k)
            step_[memory_.factor.variables()[k]] = numbers[k];
        products += static_cast<std::size_t>(work / static_cast<double>(set_.products.entries()));
    }

    // With the diagonal as preconditioner.
    void by_conjugate_gradients(std::vector<double> residual, std::size_t& products) {
        std::vector<double> direction(size_), image(size_);
        const auto scaled = [&](std::size_t i) {
            return residual[i] / (set_.curvatures[i] + penalty_.l2);
        };
        double square = 0;
        for (const std::size_t i : used_) {
            direction[i] = scaled(i);
            square += residual[i] * direction[i];
        }
        const effort e = columns_.per_pass();
        const double enough = e.face_share * square;
        for (std::size_t n = 0; n < e.face_steps_max && square > enough; ++n, ++products) {
            multiply(direction);
            memory_.step_work += static_cast<double>(used_.size()) * static_cast<double>(size_);
            double curvature = 0;
            for (const std::size_t i : used_) {
                image[i] = image_of(i);
                curvature += direction[i] * (image[i] + penalty_.l2 * direction[i]);
            }
            if (!(curvature > 0))
                return;
            const double length = square / curvature;
            double next = 0;
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

    // X_S times numbers of the variables in use; image_of is X_S'X_S times these.
    void multiply(const std::vector<double>& numbers) {
        columns_.combine(used_, numbers);
        mean_ = 0;
        for (const std::size_t i : used_)
            mean_ += set_.means[i] * numbers[i];
    }
    double image_of(std::size_t i) const { return columns_.product(i) - set_.means[i] * mean_; }

    void stop_at_zero() {
        for (const std::size_t i : used_) {
            const double value = set_.values[i];
            if ((value + step_[i]) * value < 0)
                step_[i] = -value;
        }
    }

    // The decrease by the step that has been multiplied.
    double decrease_of_step() const {
        double decrease = 0;
        for (const std::size_t i : used_) {
            const double before = set_.values[i], after = before + step_[i];
            decrease += step_[i] * (start_[i] - image_of(i) / 2) -
                        penalty_.l1 * (std::abs(after) - std::abs(before)) -
                        penalty_.l2 / 2 * (after * after - before * before);
        }
        return decrease;
    }

    Set& set_;
    Columns columns_;
    const penalty penalty_;
    face_memory& memory_;
    const std::size_t size_;
    double mean_change_ = 0; // means' times what has changed, apart from products
    double mean_ = 0;        // of what was multiplied last
    std::vector<std::size_t> used_;
    std::vector<double> start_; // gradients before the step
    std::vector<double> step_;
};

template <class Columns, class Set>
solve_outcome solve_with(Set& set, const penalty& p, const solve_bounds& bounds,
                         face_memory& memory) {
    coordinate_descent<Set, Columns> descent{set, p, memory};
    solve_outcome outcome;
    while (true) {
        const double decrease = descent.pass_over_all();
        outcome.decrease += decrease;
        ++outcome.passes;
        outcome.gap = descent.gap(bounds.residual_square);
        if (decrease <= 0 || outcome.gap <= bounds.gap || outcome.passes >= bounds.passes)
            break;
        if (!descent.has_factor())
            outcome.decrease += descent.pass_over_used(decrease, outcome.passes);
        outcome.decrease += descent.step_on_face(outcome.passes);
    }
    set.gradients = descent.gradients();
    return outcome;
}

} // namespace

std::size_t gathered_set::entries() const {
    return std::transform_reduce(columns.begin(), columns.end(), std::size_t{0}, std::plus{},
                                 [](const gathered_column& c) { return c.entries(); });
}

solve_outcome solve(coupled_set& set, const penalty& p, const solve_bounds& bounds,
                    face_memory& memory) {
    return solve_with<by_products>(set, p, bounds, memory);
}

solve_outcome solve(coupled_set& set, const penalty& p, const solve_bounds& bounds) {
    face_memory memory;
    return solve(set, p, bounds, memory);
}

solve_outcome solve(gathered_set& set, const penalty& p, const solve_bounds& bounds) {
    face_memory memory;
    return solve_with<by_columns>(set, p, bounds, memory);
}

} // namespace troupe::lasso
