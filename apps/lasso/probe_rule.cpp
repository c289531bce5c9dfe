#include "apps/lasso/probe_rule.hpp"

#include <numeric>

namespace troupe::lasso {

namespace {

constexpr std::size_t rounds_max = 20; // from one probe to the next
constexpr std::size_t saved_numbers = 6;

} // namespace

void probe_rule::begin(double gap, std::uint64_t first, std::size_t round) {
    gap_ = gap;
    first_ = first;
    round_ = round;
    phases_ = 0;
    idle_phases_ = 0;
    is_settled_ = false;
    decreases_.clear();
}

void probe_rule::fold(std::uint64_t number, const phase_outcome& outcome) {
    if (number < first_)
        return;
    if (outcome.is_empty) {
        ++idle_phases_;
        return;
    }
    idle_phases_ = 0;
    ++phases_;
    is_settled_ = outcome.gap <= settled_gap();
    decreases_.push_back(outcome.decrease);
    if (decreases_.size() > round_)
        decreases_.pop_front();
}

bool probe_rule::is_due() const noexcept {
    if (is_settled_ || idle_phases_ >= idle_ || phases_ >= rounds_max * round_)
        return true;
    return decreases_.size() >= round_ &&
           std::accumulate(decreases_.begin(), decreases_.end(), 0.0) <= settled_gap();
}

std::vector<double> probe_rule::save() const {
    std::vector<double> saved{gap_,
                              static_cast<double>(first_),
                              static_cast<double>(round_),
                              static_cast<double>(phases_),
                              static_cast<double>(idle_phases_),
                              is_settled_ ? 1.0 : 0.0};
    saved.insert(saved.end(), decreases_.begin(), decreases_.end());
    return saved;
}

bool probe_rule::load(std::span<const double> saved) {
    if (saved.size() < saved_numbers)
        return false;
    gap_ = saved[0];
    first_ = static_cast<std::uint64_t>(saved[1]);
    round_ = static_cast<std::size_t>(saved[2]);
    phases_ = static_cast<std::size_t>(saved[3]);
    idle_phases_ = static_cast<std::size_t>(saved[4]);
    is_settled_ = saved[5] != 0;
    decreases_.assign(saved.begin() + saved_numbers, saved.end());
    return true;
}

} // namespace troupe::lasso
