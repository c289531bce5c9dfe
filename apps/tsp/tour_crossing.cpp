#include "apps/tsp/tour_crossing.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "schemas/base/check.hpp"

namespace troupe::tsp {

namespace {

constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();
// Cities at which a closed way that is joined to another may be opened.
constexpr std::size_t openings_max = 500;

} // namespace

tour_crossing::tour_crossing(const instance& of, const candidates& near)
    : of_{of}, near_{near}, places_(of.cities()), now_(of.cities()), seen_(of.cities()) {
    for (auto& edges : left_)
        edges.resize(of.cities());
    TROUPE_CHECK(of.is_symmetric() && of.cities() >= cities_min,
                 "edges have two ways, and tours several");
}

std::int64_t tour_crossing::shorten(std::vector<city>& mine, std::span<const city> other,
                                    std::size_t most, random_stream& random) {
    read(mine, other);
    find_cycles(random);
    std::ranges::stable_sort(found_, std::ranges::greater{}, &cycle::gain);
    std::int64_t all = 0;
    for (const cycle& c : found_) {
        if (c.gain <= 0 || most == 0)
            break;
        const auto cities = std::span{cycles_}.subspan(c.first, c.count);
        if (!is_there(cities))
            continue;
        if (const std::int64_t gain = gain_of(cities, c.gain); gain > 0) {
            all += gain;
            --most;
            take_over(mine);
        } else
            take_back();
    }
    return all;
}

void tour_crossing::read(std::span<const city> mine, std::span<const city> other) {
    order_ = mine;
    set_neighbours(mine, now_);
    set_neighbours(other, left_[1]);
    for (std::size_t i = 0; i < mine.size(); ++i)
        places_[at(mine[i])] = static_cast<index>(i);
    for (std::size_t c = 0; c < mine.size(); ++c) {
        const neighbours first = now_[c], second = left_[1][c];
        for (std::size_t k = 0; k < 2; ++k) {
            left_[0][c][k] = has(second, first[k]) ? no_city : first[k];
            left_[1][c][k] = has(first, second[k]) ? no_city : second[k];
        }
    }
}

// ---- cycles ----

void tour_crossing::find_cycles(random_stream& random) {
    found_.clear();
    cycles_.clear();
    std::ranges::fill(seen_, std::array{nowhere, nowhere});
    const auto turn = static_cast<std::size_t>(random.below(order_.size()));
    for (std::size_t i = 0; i < order_.size(); ++i) {
        const city c = order_[(i + turn) % order_.size()];
        while (left_[0][at(c)] != neighbours{no_city, no_city})
            walk(c, random);
    }
}

// By edges of both tours by turns, each once, until it is back; what closes on the way is a cycle, too. A city has as many
// edges left of one tour as of the other, so that a way that has come in can go on.
void tour_crossing::walk(city start, random_stream& random) {
    path_.assign(1, start);
    seen_[at(start)][0] = 0;
    for (;;) {
        const std::size_t last = path_.size() - 1;
        const city next = take_edge(last % 2, path_[last], random);
        path_.push_back(next);
        index& before = seen_[at(next)][(last + 1) % 2];
        if (before == nowhere) {
            before = static_cast<index>(last + 1);
            continue;
        }
        const std::size_t first = before;
        keep_cycle(first, last + 1);
        for (std::size_t i = first + 1; i <= last; ++i)
            seen_[at(path_[i])][i % 2] = nowhere;
        path_.resize(first + 1);
        if (first == 0) {
            seen_[at(start)][0] = nowhere;
            return;
        }
    }
}

city tour_crossing::take_edge(std::size_t side, city from, random_stream& random) {
    neighbours& edges = left_[side][at(from)];
    std::size_t k = edges[0] != no_city ? 0 : 1;
    if (edges[0] != no_city && edges[1] != no_city)
        k = static_cast<std::size_t>(random.below(2));
    const city to = std::exchange(edges[k], no_city);
    TROUPE_CHECK(to != no_city, "as many edges of either tour lead to a city");
    neighbours& back = left_[side][at(to)];
    back[back[0] == from ? 0 : 1] = no_city;
    return to;
}

void tour_crossing::keep_cycle(std::size_t first, std::size_t last) {
    cycle c{static_cast<index>(cycles_.size()), static_cast<index>(last - first), 0};
    if (first % 2 != 0) { // begins with an edge of the other tour
        ++first;
        ++last;
        path_.push_back(path_[first]);
    }
    for (std::size_t i = first; i < last; ++i) {
        const std::int64_t length = of_.length(path_[i], path_[i + 1]);
        c.gain += i % 2 == 0 ? length : -length;
        cycles_.push_back(path_[i]);
    }
    found_.push_back(c);
}

// ---- what a cycle makes of the tour ----

// Whether the tour still has its edges of the cycle, and none of the other's.
bool tour_crossing::is_there(std::span<const city> cities) const {
    for (std::size_t i = 0; i < cities.size(); i += 2)
        if (!has(now_[at(cities[i])], cities[i + 1]) ||
            has(now_[at(cities[i + 1])], cities[i + 2 < cities.size() ? i + 2 : 0]))
            return false;
    return true;
}

// Changes now_. Not above 0 if it makes no shorter tour, or none.
std::int64_t tour_crossing::gain_of(std::span<const city> cities, std::int64_t gain) {
    cut_tour(cities);
    const std::size_t ways = find_ways(cities.size());
    exchange_edges(cities);
    return ways == 1 ? gain : join_ways(gain, ways);
}

void tour_crossing::take_over(std::vector<city>& mine) {
    city before = no_city, c = 0;
    for (std::size_t i = 0; i < mine.size(); ++i) {
        mine[i] = c;
        places_[at(c)] = static_cast<index>(i);
        const neighbours& both = now_[at(c)];
        before = std::exchange(c, both[0] == before ? both[1] : both[0]);
    }
    changed_.clear();
}

void tour_crossing::cut_tour(std::span<const city> cities) {
    const auto n = static_cast<index>(order_.size());
    cuts_.clear();
    for (index i = 0; i < cities.size(); i += 2) {
        const index a = places_[at(cities[i])], b = places_[at(cities[i + 1])];
        if (b == (a + 1 < n ? a + 1 : 0))
            cuts_.push_back({a, i, i + 1});
        else
            cuts_.push_back({b, i + 1, i});
    }
    std::ranges::sort(cuts_, {}, &cut::place);
    stretches_.clear();
    for (std::size_t i = 0; i < cuts_.size();
         ++i) { // of the last cut the tour goes round to the first
        const cut &from = cuts_[i == 0 ? cuts_.size() - 1 : i - 1], &to = cuts_[i];
        stretches_.push_back(
            {from.behind, to.before, to.place - from.place + (i == 0 ? n : 0), nowhere});
    }
}

// How many closed ways stretches and the other tour's edges make.
std::size_t tour_crossing::find_ways(std::size_t cities) {
    std::vector<index> of_ends(cities); // stretches
    for (std::size_t s = 0; s < stretches_.size(); ++s)
        of_ends[stretches_[s].first] = of_ends[stretches_[s].last] = static_cast<index>(s);
    index ways = 0;
    for (std::size_t s = 0; s < stretches_.size(); ++s) {
        if (stretches_[s].way != nowhere)
            continue;
        std::size_t now = s;
        index end = stretches_[s].last;
        do {
            stretches_[now].way = ways;
            const auto count = static_cast<index>(cities);
            const index joined = end % 2 != 0 ? (end + 1) % count : (end + count - 1) % count;
            now = of_ends[joined];
            end = joined == stretches_[now].first ? stretches_[now].last : stretches_[now].first;
        } while (stretches_[now].way == nowhere);
        ++ways;
    }
    return ways;
}

void tour_crossing::exchange_edges(std::span<const city> cities) {
    const std::size_t count = cities.size();
    for (std::size_t i = 0; i < count; i += 2) {
        replace(cities[i], cities[i + 1], no_city);
        replace(cities[i + 1], cities[i], no_city);
    }
    for (std::size_t i = 0; i < count; i += 2) {
        const city a = cities[i + 1], b = cities[i + 2 < count ? i + 2 : 0];
        replace(a, no_city, b);
        replace(b, no_city, a);
    }
}

void tour_crossing::replace(city c, city neighbour, city by) {
    neighbours& both = now_[at(c)];
    changed_.emplace_back(c, both);
    both[both[0] == neighbour ? 0 : 1] = by;
}

void tour_crossing::take_back() {
    for (; !changed_.empty(); changed_.pop_back())
        now_[at(changed_.back().first)] = changed_.back().second;
}

// ---- closed ways ----

// The gain that is left.
std::int64_t tour_crossing::join_ways(std::int64_t gain, std::size_t ways) {
    for (; ways > 1 && gain > 0; --ways)
        gain -= join_shortest();
    return gain;
}

std::size_t tour_crossing::stretch_of(city c) const {
    const auto cut_behind = std::ranges::lower_bound(cuts_, places_[at(c)], {}, &cut::place);
    return cut_behind == cuts_.end() ? 0 : static_cast<std::size_t>(cut_behind - cuts_.begin());
}

// The way of the fewest cities becomes one with another; the cost, or what no gain makes up for if no candidate leads out.
std::int64_t tour_crossing::join_shortest() {
    std::vector<std::pair<std::size_t, index>> sizes; // by way, and the first stretch on it
    for (std::size_t s = 0; s < stretches_.size(); ++s) {
        const auto way = stretches_[s].way;
        if (sizes.size() <= way)
            sizes.resize(way + 1, {0, nowhere});
        sizes[way].first += stretches_[s].cities;
        sizes[way].second = std::min(sizes[way].second, static_cast<index>(s));
    }
    std::size_t way = 0;
    for (std::size_t w = 1; w < sizes.size(); ++w)
        if (sizes[w].first > 0 && (sizes[way].first == 0 || sizes[w].first < sizes[way].first))
            way = w;
    struct {
        std::int64_t cost = std::numeric_limits<std::int64_t>::max() / 2;
        city a = no_city, a_next = no_city, b = no_city, b_next = no_city;
    } best;
    const std::size_t s = sizes[way].second;
    const std::size_t first_place = cuts_[s == 0 ? cuts_.size() - 1 : s - 1].place + 1u;
    const city start = order_[first_place < order_.size() ? first_place : 0];
    city before = no_city, a = start;
    for (std::size_t i = 0; i < openings_max; ++i) {
        for (const city b : near_.of(a)) {
            if (stretches_[stretch_of(b)].way == way)
                continue;
            const std::int64_t joined = of_.length(a, b);
            for (const city a_next : now_[at(a)])
                for (const city b_next : now_[at(b)]) {
                    const std::int64_t cost = joined + of_.length(a_next, b_next) -
                                              of_.length(a, a_next) - of_.length(b, b_next);
                    if (cost < best.cost)
                        best = {cost, a, a_next, b, b_next};
                }
        }
        const city next = now_[at(a)][0] == before ? now_[at(a)][1] : now_[at(a)][0];
        before = std::exchange(a, next);
        if (a == start)
            break;
    }
    if (best.a == no_city)
        return best.cost;
    replace(best.a, best.a_next, best.b);
    replace(best.a_next, best.a, best.b_next);
    replace(best.b, best.b_next, best.a);
    replace(best.b_next, best.b, best.a_next);
    const index into = stretches_[stretch_of(best.b)].way;
    for (stretch& each : stretches_)
        if (each.way == way)
            each.way = into;
    return best.cost;
}

} // namespace troupe::tsp
