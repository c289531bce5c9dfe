#include "apps/tsp/ant_system.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "apps/tsp/first_tour.hpp"
#include "kernels/ops/ops.hpp"

namespace troupe::tsp {

namespace {

// Ant colony system: how far a trail that an ant takes falls back.
constexpr double taken_up = 0.1;
// Max-min: fewer candidates than this have a trail for each that a tour needs, and the best is that old: all trails are
// made equal again.
constexpr double converged_branching = 1.00001;
constexpr std::uint64_t patience = 250;
constexpr std::uint64_t ants_max = 1000; // of the ant system without a number of its own

// Puts what is usual for the kind in the place of what is 0: the parameters of ACOTSP.
colony_settings filled(colony_settings s, std::size_t cities) {
    const bool has_search = s.search != search_kind::none;
    if (s.ants == 0)
        s.ants = s.kind == colony_kind::ant_colony_system ? 10
                 : has_search
                     ? 25
                     : static_cast<std::uint32_t>(std::min<std::uint64_t>(cities, ants_max));
    if (s.evaporation == 0)
        s.evaporation = s.kind == colony_kind::ant_colony_system        ? 0.1
                        : s.kind == colony_kind::max_min && !has_search ? 0.02
                        : s.kind == colony_kind::max_min                ? 0.2
                                                                        : 0.5;
    return s;
}

double first_trail(const colony_settings& s, std::size_t cities, std::int64_t length) {
    const auto around = static_cast<double>(std::max<std::int64_t>(length, 1));
    return s.kind == colony_kind::ant_colony_system ? 1 / (static_cast<double>(cities) * around)
                                                    : 1 / (s.evaporation * around);
}

// The trail that a tour of this length lays.
double laid_by(std::int64_t length) {
    return 1 / static_cast<double>(std::max<std::int64_t>(length, 1));
}

} // namespace

ant_system::ant_system(const instance& of, const candidates& near, const colony_settings& settings,
                       std::uint64_t seed)
    : of_{of}, settings_{filled(settings, of.cities())}, seed_{seed},
      start_trail_{first_trail(settings_, of.cities(), of.length_of(first_tour(of, near)))},
      improver_{make_improver(of, near, settings.search)},
      memory_{std::numeric_limits<std::uint64_t>::max() / 2},
      trails_{of, near, {settings.alpha, settings.beta}}, ways_{ways_of(of, memory_)},
      tours_{made_tensor(memory_, data_type::int32, {settings_.ants, of.cities()})} {
    best_.order = first_tour(of, near);
    best_.length = of.length_of(best_.order);
    trails_.fill(start_trail_);
}

ant_system::ways ant_system::ways_of(const instance& of, memory_pool& memory) {
    const std::size_t n = of.cities();
    if (of.kind() == edge_weights::matrix) {
        tensor lengths = made_tensor(memory, data_type::int32, {n, n});
        const auto all = lengths.mutable_values<std::int32_t>();
        for (std::size_t i = 0; i < n * n; ++i)
            all[i] = static_cast<std::int32_t>(
                of.length(static_cast<city>(i / n), static_cast<city>(i % n)));
        return {{}, std::move(lengths)};
    }
    const bool is_plane = of.kind() != edge_weights::geo;
    const std::size_t axes = is_plane ? 2 : 3;
    tensor places = made_tensor(memory, data_type::float64, {n, axes});
    const auto all = places.mutable_values<double>();
    for (std::size_t c = 0; c < n; ++c)
        std::ranges::copy_n(of.place_of(static_cast<city>(c)).begin(),
                            static_cast<std::ptrdiff_t>(axes),
                            all.begin() + static_cast<std::ptrdiff_t>(c * axes));
    return {std::move(places), {}};
}

result<std::uint64_t> ant_system::advance(std::uint64_t tours, operations& with) {
    std::uint64_t done = 0;
    for (; done < tours; done += settings_.ants)
        if (auto iterated = iterate(with); !iterated)
            return iterated.failure();
    return done;
}

result<void> ant_system::build(operations& with) {
    const bool takes_up = settings_.kind == colony_kind::ant_colony_system;
    return with.run(construct_tours{.choice = settings_.choice,
                                    .seed = seed_,
                                    .first_ant = iterations_ * settings_.ants + 1,
                                    .greed = takes_up ? settings_.greed : 0,
                                    .taken = takes_up
                                                 ? construct_tours::take_up{taken_up, start_trail_}
                                                 : construct_tours::take_up{},
                                    .on = trails_.operands(),
                                    .places = ways_.places ? &ways_.places : nullptr,
                                    .lengths = ways_.lengths ? &ways_.lengths : nullptr,
                                    .tours = tours_});
}

void ant_system::improve(std::span<city> order) {
    if (settings_.search == search_kind::none)
        return;
    tour t{{order.begin(), order.end()}};
    for (const city c : order)
        improver_->look_at(c);
    improver_->improve(t);
    std::ranges::copy(t.order(), order.begin());
}

result<void> ant_system::iterate(operations& with) {
    if (auto done = build(with); !done)
        return done;
    const std::size_t n = of_.cities();
    const auto order_of = [&](std::size_t ant) {
        return tours_.mutable_values<city>().subspan(ant * n, n);
    };
    std::vector<std::int64_t> lengths;
    double sum = 0;
    for (std::size_t i = 0; i < settings_.ants; ++i) {
        improve(order_of(i));
        lengths.push_back(of_.length_of(order_of(i)));
        sum += static_cast<double>(lengths.back());
    }
    mean_ = sum / settings_.ants;
    ++iterations_;
    const auto least = std::ranges::min_element(lengths);
    const auto order = order_of(static_cast<std::size_t>(least - lengths.begin()));
    const built shortest{{order.begin(), order.end()}, *least};
    if (shortest.length < best_.length)
        best_ = shortest;
    return settings_.kind == colony_kind::ant_system ? lay_all(with, lengths)
                                                     : lay_best(with, shortest);
}

result<void> ant_system::lay_all(operations& with, std::span<const std::int64_t> lengths) {
    tensor amounts = made_tensor(memory_, data_type::float64, {lengths.size()});
    std::ranges::transform(lengths, amounts.mutable_values<double>().begin(), laid_by);
    auto done = trails_.lay(with, {.kept = 1 - settings_.evaporation}, tours_, amounts);
    if (done && !restart_best_.order.empty())
        done = trails_.lay(with, {}, restart_best_.order, laid_by(restart_best_.length));
    restart_best_ = {};
    return done;
}

result<void> ant_system::lay_best(operations& with, const built& shortest) {
    const double kept = 1 - settings_.evaporation;
    if (settings_.kind == colony_kind::ant_colony_system)
        return trails_.lay(with, {.kept = kept, .evaporates_laid_alone = true}, best_.order,
                           settings_.evaporation * laid_by(best_.length));
    if (restart_best_.order.empty() || shortest.length < restart_best_.length) {
        restart_best_ = shortest;
        restart_best_at_ = iterations_;
    }
    const bool is_turn_of_best = iterations_ % period_of_best() == 0;
    const bool is_old = iterations_ - restart_best_at_ > 50 && period_of_best() == 1;
    const built& laid = !is_turn_of_best ? shortest : is_old ? best_ : restart_best_;
    const double highest = laid_by(best_.length) / settings_.evaporation;
    auto done = trails_.lay(with, {.kept = kept, .low = lowest_trail(highest), .high = highest},
                            laid.order, laid_by(laid.length));
    if (done && iterations_ - restart_best_at_ > patience &&
        trails_.branching_factor() < ways_of_edge() * converged_branching) {
        restart_best_ = {};
        restarted_at_ = restart_best_at_ = iterations_;
        trails_.fill(highest);
    }
    return done;
}

// On how many of a city's candidates a converged tour lies: both neighbours, or the next one alone.
double ant_system::ways_of_edge() const noexcept {
    return of_.is_symmetric() ? 2 : 1;
}

// Max-min: so that an ant finds the best tour with some probability where all trails have converged.
double ant_system::lowest_trail(double highest) const noexcept {
    const auto n = static_cast<double>(of_.cities());
    if (settings_.search != search_kind::none)
        return highest / (2 * n);
    const double p = std::exp(std::log(0.05) / n);
    const double choices = std::floor((static_cast<double>(candidates_of(settings_)) + 1) / 2);
    return std::min(highest, highest * (1 - p) / (p * choices));
}

// Max-min: how often the best since the restart is laid in the place of the iteration's.
std::uint64_t ant_system::period_of_best() const noexcept {
    if (settings_.search == search_kind::none)
        return 25;
    const std::uint64_t age = iterations_ - restarted_at_;
    return age < 25 ? 25 : age < 75 ? 5 : age < 125 ? 3 : age < 250 ? 2 : 1;
}

bool ant_system::take_in(std::span<const city> tour) {
    const std::int64_t length = of_.length_of(tour);
    if (length >= best_.length)
        return false;
    best_ = {{tour.begin(), tour.end()}, length};
    restart_best_ = best_; // what comes from elsewhere lays trails as what is found here
    restart_best_at_ = iterations_;
    return true;
}

colony_report ant_system::report() const {
    return {iterations_ * settings_.ants, best_.length, mean_, trails_.branching_factor()};
}

colony_state ant_system::save() const {
    colony_state state;
    for (const std::uint64_t number : {iterations_, restarted_at_, restart_best_at_})
        state.numbers.push_back(static_cast<std::int64_t>(number));
    state.numbers.push_back(std::bit_cast<std::int64_t>(mean_));
    for (const built* b : {&best_, &restart_best_}) // the second may be empty
        state.tours.insert(state.tours.end(), b->order.begin(), b->order.end());
    state.trails.assign(trails_.values().begin(), trails_.values().end());
    return state;
}

result<void> ant_system::load(const colony_state& state) {
    const std::size_t n = of_.cities();
    const std::span all{state.tours};
    const bool has_restart_best = all.size() == 2 * n;
    if (state.numbers.size() != 4 || (all.size() != n && !has_restart_best) ||
        !is_tour(all.first(n), n) || !is_tour(all.last(n), n) ||
        state.trails.size() != trails_.values().size())
        return error{errc::protocol, "the saved state is not of this colony"};
    iterations_ = static_cast<std::uint64_t>(state.numbers[0]);
    restarted_at_ = static_cast<std::uint64_t>(state.numbers[1]);
    restart_best_at_ = static_cast<std::uint64_t>(state.numbers[2]);
    mean_ = std::bit_cast<double>(state.numbers[3]);
    const auto read = [&](std::span<const city> order) {
        return built{{order.begin(), order.end()}, of_.length_of(order)};
    };
    best_ = read(all.first(n));
    restart_best_ = has_restart_best ? read(all.last(n)) : built{};
    trails_.set(state.trails);
    return {};
}

} // namespace troupe::tsp
