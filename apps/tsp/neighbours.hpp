// Tours as the two neighbours of each city, for what compares edges of tours.
//
// Threads: pure.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "apps/tsp/instance.hpp"

namespace troupe::tsp {

using neighbours = std::array<city, 2>; // before and behind it

inline std::size_t at(city c) noexcept {
    return static_cast<std::size_t>(c);
}

inline bool has(const neighbours& both, city c) noexcept {
    return both[0] == c || both[1] == c;
}

// `all` has a place for each city of the tour.
inline void set_neighbours(std::span<const city> tour, std::vector<neighbours>& all) {
    city before = tour.back();
    for (std::size_t i = 0; i < tour.size(); ++i) {
        all[at(tour[i])] = {before, tour[i + 1 < tour.size() ? i + 1 : 0]};
        before = tour[i];
    }
}

} // namespace troupe::tsp
