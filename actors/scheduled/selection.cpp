#include "actors/scheduled/selection.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::scheduled {

namespace {

constexpr std::size_t draws_per_variable = 4;

class drawn_by_change final : public selection {
  public:
    drawn_by_change(number_range variables, double base_width)
        : first_{static_cast<std::int64_t>(variables.first)}, base_width_{base_width},
          changes_(variables.count, 0.0) {}

    std::vector<std::int64_t> choose(std::span<const std::int64_t> eligible, std::size_t count,
                                     random_stream& random) override {
        std::vector<std::int64_t> chosen = count >= eligible.size()
                                               ? std::vector(eligible.begin(), eligible.end())
                                               : draw(eligible, count, random);
        std::ranges::stable_sort(chosen, std::ranges::greater{},
                                 [this](std::int64_t j) { return change_of(j); });
        return chosen;
    }

    void note_change(std::int64_t variable, double size) override {
        TROUPE_CHECK(std::isfinite(size) && size >= 0, "the size of a change is no size");
        changes_.at(static_cast<std::size_t>(variable - first_)) = size;
    }

    std::vector<double> state() const override { return changes_; }

    result<void> restore(std::span<const double> state) override {
        const auto is_size = [](double size) { return std::isfinite(size) && size >= 0; };
        if (state.size() != changes_.size() || !std::ranges::all_of(state, is_size))
            return error{errc::protocol, "the saved state of a dynamic schedule has other sizes"};
        changes_.assign(state.begin(), state.end());
        return {};
    }

  private:
    double change_of(std::int64_t variable) const {
        return changes_.at(static_cast<std::size_t>(variable - first_));
    }

    // Where the pieces of the eligible variables end.
    std::vector<double> ends_of(std::span<const std::int64_t> eligible) const {
        double sum = 0;
        for (const std::int64_t j : eligible)
            sum += change_of(j);
        const double base = base_width_ * sum / static_cast<double>(eligible.size());
        std::vector<double> ends;
        ends.reserve(eligible.size());
        double end = 0;
        for (const std::int64_t j : eligible)
            ends.push_back(end += sum > 0 ? change_of(j) + base : 1.0);
        return ends;
    }

    std::vector<std::int64_t> draw(std::span<const std::int64_t> eligible, std::size_t count,
                                   random_stream& random) const {
        const std::vector<double> ends = ends_of(eligible);
        std::vector<bool> is_chosen(eligible.size());
        std::vector<std::int64_t> chosen;
        for (std::size_t i = 0; i < draws_per_variable * count && chosen.size() < count; ++i) {
            const double point = random.uniform() * ends.back();
            const auto hit = std::min<std::size_t>(
                static_cast<std::size_t>(std::ranges::upper_bound(ends, point) - ends.begin()),
                eligible.size() - 1);
            if (!is_chosen[hit])
                chosen.push_back(eligible[hit]);
            is_chosen[hit] = true;
        }
        std::ranges::sort(chosen);
        return chosen;
    }

    std::int64_t first_;
    double base_width_;
    std::vector<double> changes_;
};

class one_after_the_other final : public selection {
  public:
    std::vector<std::int64_t> choose(std::span<const std::int64_t> eligible, std::size_t count,
                                     random_stream&) override {
        count = std::min(count, eligible.size());
        std::vector<std::int64_t> chosen;
        chosen.reserve(count);
        auto next = std::ranges::lower_bound(eligible, next_);
        for (; chosen.size() < count; ++next) {
            if (next == eligible.end())
                next = eligible.begin();
            chosen.push_back(*next);
        }
        if (!chosen.empty())
            next_ = chosen.back() + 1;
        return chosen;
    }

    void note_change(std::int64_t, double) override {}

    std::vector<double> state() const override { return {static_cast<double>(next_)}; }

    result<void> restore(std::span<const double> state) override {
        if (state.size() != 1 || !(state[0] >= 0 && state[0] < 0x1.0p53))
            return error{errc::protocol, "the saved state of a cyclic schedule is no variable"};
        next_ = static_cast<std::int64_t>(state[0]);
        return {};
    }

  private:
    std::int64_t next_ = 0; // the variable to go on with
};

} // namespace

std::unique_ptr<selection> dynamic_selection(number_range variables, double base_width) {
    return std::make_unique<drawn_by_change>(variables, base_width);
}

std::unique_ptr<selection> cyclic_selection() {
    return std::make_unique<one_after_the_other>();
}

} // namespace troupe::scheduled
