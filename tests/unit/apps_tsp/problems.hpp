// Problems for tests, made up.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "apps/tsp/instance.hpp"
#include "schemas/base/random.hpp"

namespace troupe::test {

inline tsp::instance random_cities(std::size_t cities, std::uint64_t seed,
                                   tsp::edge_weights kind = tsp::edge_weights::euclidean) {
    random_stream random{seed};
    std::vector<tsp::point> points;
    for (std::size_t i = 0; i < cities; ++i) {
        const double x = static_cast<double>(random.below(10000));
        points.push_back({x, static_cast<double>(random.below(10000))});
    }
    return tsp::instance::of_points("random", kind, std::move(points));
}

// Ways there and back differ.
inline tsp::instance one_way_streets(std::size_t cities, std::uint64_t seed) {
    random_stream random{seed};
    std::vector<std::int32_t> lengths(cities * cities);
    for (std::int32_t& length : lengths)
        length = static_cast<std::int32_t>(1 + random.below(1000));
    return tsp::instance::of_matrix("one way", std::move(lengths), {});
}

// By trying all tours; few cities.
inline std::int64_t shortest_length(const tsp::instance& of) {
    std::vector<tsp::city> order(of.cities());
    std::iota(order.begin(), order.end(), 0);
    std::int64_t best = of.length_of(order);
    while (std::next_permutation(order.begin() + 1, order.end()))
        best = std::min(best, of.length_of(order));
    return best;
}

} // namespace troupe::test
