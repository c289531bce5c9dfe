#include "apps/tsp/tour_pool.hpp"

#include <algorithm>
#include <numeric>

namespace troupe::tsp {

namespace {

// Without a gain, of which the next one draws other cycles; and in all.
constexpr int idle_generations = 2;
constexpr int generations_max = 100;
// Exchanges that one tour takes over from another in a generation: few, so that tours stay apart for a while, but so many
// that those of many cities get on, as far as time allows.
std::size_t exchanges_taken(std::size_t cities) noexcept {
    return std::clamp<std::size_t>(cities / 500, 1, 64);
}

} // namespace

std::size_t tour_pool::tours_max(std::size_t cities) noexcept {
    return std::clamp<std::size_t>((std::size_t{1} << 24) / cities, 8, 100);
}

void tour_pool::add(std::span<const city> tour) {
    if (tours_.size() == tours_max(tour.size()) * tour.size())
        tours_.erase(tours_.begin(), tours_.begin() + static_cast<std::ptrdiff_t>(tour.size()));
    tours_.insert(tours_.end(), tour.begin(), tour.end());
}

std::int64_t tour_pool::breed(std::vector<city>& best, random_stream& random) {
    const std::size_t cities = best.size(), taken = exchanges_taken(cities);
    std::vector<std::vector<city>> all;
    for (std::size_t at = 0; at < tours_.size(); at += cities)
        all.emplace_back(tours_.begin() + static_cast<std::ptrdiff_t>(at),
                         tours_.begin() + static_cast<std::ptrdiff_t>(at + cities));
    all.push_back(best);
    std::vector<std::size_t> ring(all.size());
    std::iota(ring.begin(), ring.end(), 0);
    for (int idle = 0, generation = 0; idle < idle_generations && generation < generations_max;
         ++generation) {
        for (std::size_t i = ring.size(); i > 1; --i)
            std::swap(ring[i - 1], ring[static_cast<std::size_t>(random.below(i))]);
        std::int64_t gain = 0;
        for (std::size_t i = 0; i < ring.size(); ++i)
            gain += crossing_.shorten(all[ring[i]], all[ring[i + 1 < ring.size() ? i + 1 : 0]],
                                      taken, random);
        idle = gain > 0 ? 0 : idle + 1;
    }
    const auto length = [this](const std::vector<city>& tour) { return of_.length_of(tour); };
    auto& shortest = *std::ranges::min_element(all, {}, length);
    const std::int64_t gain = length(best) - length(shortest);
    if (gain > 0)
        best = std::move(shortest);
    return gain;
}

} // namespace troupe::tsp
