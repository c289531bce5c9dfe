#include "apps/tsp/tour_merge.hpp"

#include <algorithm>
#include <numeric>

#include "apps/tsp/neighbours.hpp"

namespace troupe::tsp {

namespace {

constexpr int walks_max = 256;

std::vector<neighbours> neighbours_in(std::span<const city> tour) {
    std::vector<neighbours> all(tour.size());
    set_neighbours(tour, all);
    return all;
}

// Cities that edges of one of the tours alone connect.
struct part {
    std::vector<city> cities;
    std::int64_t gain = 0;
};

std::vector<part> parts_of(const instance& of, std::span<const neighbours> first,
                           std::span<const neighbours> second) {
    std::vector<city> sets(first.size());
    std::iota(sets.begin(), sets.end(), 0);
    const auto set_of = [&](city c) {
        while (sets[at(c)] != c)
            c = sets[at(c)] = sets[at(sets[at(c)])];
        return c;
    };
    std::vector<std::int64_t> twice_gained(first.size());
    std::vector<bool> differs(first.size());
    for (city c = 0; at(c) < first.size(); ++c) {
        const auto look_at = [&](const neighbours& mine, const neighbours& others, int sign) {
            for (const city to : mine)
                if (!has(others, to)) {
                    differs[at(c)] = true;
                    sets[at(set_of(c))] = set_of(to);
                    twice_gained[at(c)] += sign * of.length(c, to);
                }
        };
        look_at(first[at(c)], second[at(c)], 1);
        look_at(second[at(c)], first[at(c)], -1);
    }
    std::vector<part> parts;
    std::vector<std::size_t> numbers(first.size(), first.size()); // of parts, by set
    for (city c = 0; at(c) < first.size(); ++c) {
        if (!differs[at(c)])
            continue;
        std::size_t& number = numbers[at(set_of(c))];
        if (number == first.size()) {
            number = parts.size();
            parts.emplace_back();
        }
        parts[number].cities.push_back(c);
        parts[number].gain += twice_gained[at(c)];
    }
    for (part& p : parts)
        p.gain /= 2; // each edge was seen from both ends
    return parts;
}

class merger {
  public:
    merger(std::vector<neighbours> first, std::vector<neighbours> second)
        : now_{first}, first_{std::move(first)}, second_{std::move(second)} {}

    // All of these parts if that makes a tour, otherwise of each half what does; the gain.
    std::int64_t take(std::span<const part> parts) {
        if (parts.empty() || walks_ >= walks_max)
            return 0;
        std::int64_t gain = 0;
        for (const part& p : parts) {
            gain += p.gain;
            for (const city c : p.cities)
                now_[at(c)] = second_[at(c)];
        }
        ++walks_;
        if (order().size() == now_.size())
            return gain;
        for (const part& p : parts)
            for (const city c : p.cities)
                now_[at(c)] = first_[at(c)];
        if (parts.size() == 1)
            return 0;
        const std::size_t half = parts.size() / 2;
        gain = take(parts.first(half));
        return gain + take(parts.subspan(half));
    }
    // From city 0 on until it comes round: all cities if this is a tour.
    std::vector<city> order() const {
        std::vector<city> cities;
        cities.reserve(now_.size());
        city before = now_[0][0], c = 0;
        do {
            cities.push_back(c);
            const neighbours& both = now_[at(c)];
            const city next = both[0] == before ? both[1] : both[0];
            before = c;
            c = next;
        } while (c != 0);
        return cities;
    }

  private:
    std::vector<neighbours> now_, first_, second_;
    int walks_ = 0;
};

} // namespace

std::int64_t merge(const instance& of, std::vector<city>& best, std::span<const city> other) {
    auto first = neighbours_in(best), second = neighbours_in(other);
    auto parts = parts_of(of, first, second);
    std::erase_if(parts, [](const part& p) { return p.gain <= 0; });
    merger m{std::move(first), std::move(second)};
    const std::int64_t gain = m.take(parts);
    if (gain > 0)
        best = m.order();
    return gain;
}

} // namespace troupe::tsp
