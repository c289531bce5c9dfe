#include "apps/lasso/probe_rule.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::lasso {

namespace {

constexpr std::size_t rounds_max = 20; // from one probe to the next
constexpr double gained_share =
    0.03; // of the gap that phases should come below: a round that gains less gains little
constexpr std::size_t saved_rule_numbers = 6;
constexpr double count_max = 0x1p53; // of what is saved as a double
constexpr double usual_share = 0.3;  // of the gap that a probe found
constexpr double last_share = 0.3;   // of the gap at which the run ends
constexpr double close = 1e4;        // times that gap

} // namespace

double next_gap(double gap, double last) noexcept {
    const double usual = usual_share * gap;
    return gap < close * last ? std::min(usual, end_gap(last)) : usual;
}

double end_gap(double last) noexcept {
    return last_share * last;
}

void probe_rule::begin(double gap, std::uint64_t first, std::size_t round) {
    *this = probe_rule{idle_};
    gap_ = gap;
    first_ = first;
    round_ = round;
}

void probe_rule::fold(std::uint64_t number, const phase_outcome& outcome) {
    if (number < first_)
        return;
    idle_phases_ = outcome.updated == 0 ? idle_phases_ + 1 : 0;
    if (outcome.updated == 0)
        return;
    updated_ += outcome.updated;
    is_settled_ = outcome.gap <= settled_gap();
    last_round_.push_back({outcome.updated, outcome.decrease});
    while (last_round_.size() > 1 && updated_in_round() - last_round_.front().updated >= round_)
        last_round_.pop_front();
}

std::size_t probe_rule::updated_in_round() const noexcept {
    std::size_t updated = 0;
    for (const gain& g : last_round_)
        updated += g.updated;
    return updated;
}

bool probe_rule::is_due() const noexcept {
    if (is_settled_ || idle_phases_ >= idle_ || updated_ >= rounds_max * round_)
        return true;
    double decrease = 0;
    for (const gain& g : last_round_)
        decrease += g.decrease;
    return updated_in_round() >= round_ && decrease <= gained_share * gap_;
}

std::vector<double> probe_rule::save() const {
    std::vector<double> saved{gap_,
                              static_cast<double>(first_),
                              static_cast<double>(round_),
                              static_cast<double>(updated_),
                              static_cast<double>(idle_phases_),
                              is_settled_ ? 1.0 : 0.0};
    for (const gain& g : last_round_) {
        saved.push_back(static_cast<double>(g.updated));
        saved.push_back(g.decrease);
    }
    return saved;
}

bool probe_rule::load(std::span<const double> saved) {
    if (saved.size() < saved_rule_numbers || saved.size() % 2 != 0)
        return false;
    const auto is_count = [](double x) { return x >= 0 && x <= count_max; };
    if (!(saved[0] >= 0) ||
        !std::ranges::all_of(saved.subspan(1, saved_rule_numbers - 1), is_count))
        return false;
    for (std::size_t i = saved_rule_numbers; i < saved.size(); i += 2)
        if (!is_count(saved[i]) || !std::isfinite(saved[i + 1]))
            return false;
    gap_ = saved[0];
    first_ = static_cast<std::uint64_t>(saved[1]);
    round_ = static_cast<std::size_t>(saved[2]);
    updated_ = static_cast<std::size_t>(saved[3]);
    idle_phases_ = static_cast<std::size_t>(saved[4]);
    is_settled_ = saved[5] != 0;
    last_round_.clear();
    for (std::size_t i = saved_rule_numbers; i < saved.size(); i += 2)
        last_round_.push_back({static_cast<std::size_t>(saved[i]), saved[i + 1]});
    return true;
}

} // namespace troupe::lasso
