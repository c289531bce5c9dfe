#include "actors/scheduled/run_bounds.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::scheduled {

namespace {

constexpr double same_share = 1e-6;   // of a number that has not changed
constexpr double fallen_share = 0.99; // of a gap that has
constexpr double rounding_max = 1e-5; // of a gap that sums of float32 products leave

const named_number* find(const std::vector<named_number>& numbers, const std::string& name) {
    const auto found = std::ranges::find(numbers, name, &named_number::name);
    return found == numbers.end() ? nullptr : &*found;
}

bool is_as_before(const std::vector<named_number>& numbers,
                  const std::vector<named_number>& before) {
    return std::ranges::all_of(numbers, [&](const named_number& n) {
        if (n.name == "gap" || n.name == "phases")
            return true;
        const named_number* then = find(before, n.name);
        return then != nullptr &&
               std::abs(n.value - then->value) <= same_share * std::abs(then->value);
    });
}

} // namespace

bool end_holds(bool is_done, std::uint64_t sweeps, const stop_settings& stop) {
    return is_done || (stop.sweeps > 0 && sweeps >= stop.sweeps);
}

std::string bound_reached(const stop_settings& stop, const run_standing& now) {
    if (now.is_done) {
        const auto is_at_most = [&](const char* name, double bound) {
            const named_number* number = find(now.numbers, name);
            return number != nullptr && number->value <= bound;
        };
        if (stop.length > 0 && is_at_most("length", static_cast<double>(stop.length)))
            return "length";
        return stop.iterations > 0 && !is_at_most("gap", stop.gap) ? "iterations" : "gap";
    }
    if (stop.sweeps > 0 && now.sweeps >= stop.sweeps)
        return "sweeps";
    if (stop.phases > 0 && now.phases >= stop.phases)
        return "phases";
    return now.is_time_up ? "seconds" : "";
}

const char* standstill::sentence(double gap) noexcept {
    return gap <= rounding_max
               ? "the gap has not fallen by a hundredth in 20 sweeps, and is above stop.gap: "
                 "rounding may allow no less; give a larger stop.gap, or end the run by Ctrl-C, "
                 "which writes what it has found"
               : "the gap has not fallen by a hundredth in 20 sweeps, and is above stop.gap; give "
                 "a larger stop.gap, or end the run by Ctrl-C, which writes what it has found";
}

bool standstill::is_reached(const std::vector<named_number>& numbers, double wanted) {
    const named_number* gap = find(numbers, "gap");
    if (gap == nullptr || is_said_ || wanted <= 0 || gap->value <= wanted)
        return false;
    if (sweeps_ == 0 || gap->value < fallen_share * best_ || !is_as_before(numbers, first_)) {
        first_ = numbers;
        best_ = gap->value;
        sweeps_ = 1;
        return false;
    }
    is_said_ = ++sweeps_ > sweeps_max;
    return is_said_;
}

} // namespace troupe::scheduled
