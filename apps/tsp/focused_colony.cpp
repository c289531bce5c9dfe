#include "apps/tsp/focused_colony.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "apps/tsp/first_tour.hpp"
#include "apps/tsp/tour_merge.hpp"
#include "apps/tsp/tsp_limits.hpp"
#include "kernels/reference/city_choice.hpp"

namespace troupe::tsp {

namespace {

// Cities of each of the stretches that an ant rearranges.
constexpr std::uint64_t stretch_max = 50;
// Whole tours are shuffled in smaller problems: a double bridge needs eight.
constexpr std::size_t cities_min = 8;
// For each city: ants of a cycle, in which the current tour is warm, cools down, and gives its better parts to the best one.
constexpr std::uint64_t cycle_ants = 5;
// After so many of them the tours that they ended with breed.
constexpr std::uint64_t cycles_to_breed = 5;
// In edges of the best tour: by how much an ant may lengthen the current one, on average, as a cycle begins and ends.
constexpr double warm = 0.7;
constexpr double cold = 0.05;
constexpr double usual_evaporation = 0.1;

// A tour to begin with, of this seed.
std::vector<city> own_first_tour(const instance& of, const candidates& near, std::uint64_t seed) {
    random_stream random{seed, 0}; // ants count from 1
    return first_tour(of, near, random);
}

std::uint64_t usual_ants(std::size_t cities) noexcept {
    return std::max<std::uint64_t>(64, cities / 4);
}

// Exponential with a mean of about 1: a logarithm that is straight between powers of two, the same on all machines.
double exponential(random_stream& random) noexcept {
    int power = 0;
    const double rest = std::frexp(1 - random.uniform(), &power);
    return 0.693 * (2 - 2 * rest - power);
}

} // namespace

focused_colony::focused_colony(const instance& of, const candidates& near,
                               const colony_settings& settings, std::uint64_t seed)
    : of_{of}, near_{near}, settings_{settings}, seed_{seed},
      iteration_ants_{settings.ants != 0 ? settings.ants : usual_ants(of.cities())},
      improver_{make_improver(of, near, settings.search)},
      trails_{of, near, {settings.alpha, settings.beta}}, current_{own_first_tour(of, near, seed)} {
    if (of.is_symmetric() && of.cities() >= tour_crossing::cities_min)
        pool_.emplace(of, near);
    begin();
}

void focused_colony::begin() {
    improve_all();
    best_.assign(current_.order().begin(), current_.order().end());
    best_length_ = current_length_;
    trails_.fill(1);
}

void focused_colony::improve_all() {
    for (const city c : std::vector<city>(current_.order().begin(), current_.order().end()))
        improver_->look_at(c);
    improver_->improve(current_);
    current_.keep();
    current_length_ = of_.length_of(current_.order());
}

result<std::uint64_t> focused_colony::advance(std::uint64_t tours, operations& with) {
    if (ants_ == 0)
        if (auto laid = lay_trails(with); !laid)
            return laid.failure();
    for (std::uint64_t i = 0; i < tours; ++i) {
        send_ant();
        if (ants_ % iteration_ants_ != 0)
            continue;
        mean_ = static_cast<double>(iteration_sum_) / static_cast<double>(iteration_ants_);
        iteration_sum_ = 0;
        if (auto laid = lay_trails(with); !laid)
            return laid.failure();
    }
    return tours;
}

void focused_colony::send_ant() {
    random_stream random{seed_, ++ants_};
    std::int64_t change =
        current_.cities() < cities_min ? shuffle(random) : change_few_edges(random);
    change -= improver_->improve(current_);
    const std::int64_t length = current_length_ + change;
    iteration_sum_ += length;
    if (static_cast<double>(change) <= warmth() * exponential(random)) {
        current_.keep();
        current_length_ = length;
        if (length < best_length_) {
            best_length_ = length;
            best_.assign(current_.order().begin(), current_.order().end());
        }
    } else
        current_.undo();
    if (ants_ % (cycle_ants * of_.cities()) == 0)
        end_cycle();
}

// By how much this ant may lengthen the current tour, on average.
double focused_colony::warmth() const noexcept {
    const auto cities = static_cast<double>(of_.cities());
    const std::uint64_t cycle = cycle_ants * of_.cities();
    const double left = 1 - static_cast<double>((ants_ - 1) % cycle) / static_cast<double>(cycle);
    return (cold + (warm - cold) * left * left) * static_cast<double>(best_length_) / cities;
}

void focused_colony::end_cycle() {
    if (!pool_) { // asymmetric, or too few cities to be crossed
        current_ = tour{best_};
        current_length_ = best_length_;
        return;
    }
    best_length_ -= merge(of_, best_, current_.order());
    pool_->add(current_.order());
    if (ants_ % (cycles_to_breed * cycle_ants * of_.cities()) == 0) {
        random_stream random{seed_, ~ants_}; // ants draw from those of low numbers
        const std::int64_t gain = pool_->breed(best_, random);
        best_length_ -= gain;
        // All tours of the last cycles are of one basin: another one may be better.
        if (gain == 0) {
            current_ = tour{first_tour(of_, near_, random)};
            improve_all();
        }
    }
}

// The trails of the best tour grow to the upper limit, all others shrink to the lower one.
result<void> focused_colony::lay_trails(operations& with) {
    const double share = settings_.evaporation > 0 ? settings_.evaporation : usual_evaporation;
    // In units of 1 / (share * best length): the limit is 1 whatever the length is.
    return trails_.lay(
        with, {.kept = 1 - share, .low = 0.5 / static_cast<double>(of_.cities()), .high = 1}, best_,
        share);
}

// Where the first new edge leads: to a candidate that lies ahead on the tour, not too far.
focused_colony::cuts focused_colony::choose_cuts(random_stream& random) {
    const std::size_t n = current_.cities();
    const std::uint64_t longest = std::min<std::uint64_t>(stretch_max, n / 3 - 1);
    const std::size_t place = random.below(n);
    const city from = current_.at(place);
    const auto near = near_.of(from);
    const auto weights = trails_.weights(from);
    std::array<double, limits::candidates_max> eligible{};
    std::array<std::size_t, limits::candidates_max> ahead{};
    for (std::size_t k = 0; k < near.size(); ++k) {
        const std::size_t there = current_.place_of(near[k]);
        ahead[k] = there > place ? there - place : there + n - place;
        eligible[k] = ahead[k] >= 3 && ahead[k] <= 2 * longest ? weights[k] : 0;
    }
    cuts c{place + 1 < n ? place + 1 : 0, 1 + random.below(longest), 1 + random.below(longest),
           1 + random.below(longest)};
    const std::size_t k = choose(settings_.choice, std::span{eligible}.first(near.size()), random);
    if (k < near.size()) { // two stretches lie before the candidate
        c.left = 1 + random.below(ahead[k] - 2);
        c.middle = ahead[k] - 1 - c.left;
    }
    return c;
}

std::int64_t focused_colony::change_few_edges(random_stream& random) {
    const cuts c = choose_cuts(random);
    const std::size_t n = current_.cities();
    const auto at = [&](std::size_t behind) {
        const std::size_t place = c.first + behind;
        return current_.at(place < n ? place : place - n);
    };
    const std::size_t two = c.left + c.middle, all = two + c.right;
    const city a = at(n - 1), b = at(0), b_end = at(c.left - 1), m = at(c.left),
               m_end = at(two - 1), r = at(two), r_end = at(all - 1), d = at(all);
    const std::int64_t change = of_.length(a, r) + of_.length(r_end, m) + of_.length(m_end, b) +
                                of_.length(b_end, d) - of_.length(a, b) - of_.length(b_end, m) -
                                of_.length(m_end, r) - of_.length(r_end, d);
    current_.exchange(c.first, c.left, c.middle + c.right);
    current_.exchange(c.first, c.middle, c.right);
    for (const city end : {a, b, b_end, m, m_end, r, r_end, d})
        improver_->look_at(end);
    return change;
}

std::int64_t focused_colony::shuffle(random_stream& random) {
    for (std::size_t i = current_.cities(); i > 1; --i) {
        const std::size_t j = random.below(i);
        if (j + 1 < i) // to the end of those that are not drawn yet
            current_.exchange(j, 1, i - 1 - j);
    }
    for (city c = 0; static_cast<std::size_t>(c) < current_.cities(); ++c)
        improver_->look_at(c);
    return of_.length_of(current_.order()) - current_length_;
}

bool focused_colony::take_in(std::span<const city> order) {
    TROUPE_CHECK(is_tour(order, of_.cities()), "the worker has checked what has come");
    std::vector<city> shorter{order.begin(), order.end()}, longer = best_;
    std::int64_t length = of_.length_of(shorter);
    if (length >= best_length_) {
        std::swap(shorter, longer);
        length = best_length_;
    }
    if (pool_)
        length -= merge(of_, shorter, longer);
    if (length >= best_length_)
        return false;
    best_ = std::move(shorter);
    best_length_ = length;
    return true;
}

colony_report focused_colony::report() const {
    const std::uint64_t sent = std::max<std::uint64_t>(1, ants_ % iteration_ants_);
    const bool is_first = ants_ < iteration_ants_; // the mean of those that it has sent
    const double mean =
        is_first ? static_cast<double>(iteration_sum_) / static_cast<double>(sent) : mean_;
    return {ants_, best_length_, mean, trails_.branching_factor()};
}

colony_state focused_colony::save() const {
    colony_state state;
    state.numbers = {static_cast<std::int64_t>(ants_), iteration_sum_,
                     std::bit_cast<std::int64_t>(mean_)};
    state.tours.assign(current_.order().begin(), current_.order().end());
    state.tours.insert(state.tours.end(), best_.begin(), best_.end());
    if (pool_)
        state.tours.insert(state.tours.end(), pool_->tours().begin(), pool_->tours().end());
    state.trails.assign(trails_.values().begin(), trails_.values().end());
    return state;
}

result<void> focused_colony::load(const colony_state& state) {
    const std::size_t n = of_.cities(), count = state.tours.size() / n;
    const auto tour_at = [&](std::size_t i) { return std::span{state.tours}.subspan(i * n, n); };
    bool fits = state.numbers.size() == 3 && state.tours.size() == count * n && count >= 2 &&
                count <= 2 + (pool_ ? tour_pool::tours_max(n) : 0) &&
                state.trails.size() == trails_.values().size();
    for (std::size_t i = 0; fits && i < count; ++i)
        fits = is_tour(tour_at(i), n);
    if (!fits)
        return error{errc::protocol, "the saved state is not of this colony"};
    ants_ = static_cast<std::uint64_t>(state.numbers[0]);
    iteration_sum_ = state.numbers[1];
    mean_ = std::bit_cast<double>(state.numbers[2]);
    current_ = tour{{tour_at(0).begin(), tour_at(0).end()}};
    best_.assign(tour_at(1).begin(), tour_at(1).end());
    if (pool_)
        pool_->set(std::span{state.tours}.subspan(2 * n));
    current_length_ = of_.length_of(current_.order());
    best_length_ = of_.length_of(best_);
    trails_.set(state.trails);
    return {};
}

} // namespace troupe::tsp
