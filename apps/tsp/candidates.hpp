// For each city those that it is likely to be beside in a good tour: the nearest ones, nearest first; with coordinates also
// nearest ones in each quadrant around it, so that clusters are joined. Or fewer of these, the alpha-nearest ones
// (alpha_nearness.hpp), which cost a second or so for 10,000 cities.
//
// Memory grows with the cities. Of asymmetric problems they are those that are near by the way there, or for `into` by the
// way back.
//
// Threads: immutable once made.
#pragma once

#include <span>
#include <vector>

#include "apps/tsp/instance.hpp"

namespace troupe::tsp {

enum class nearness : std::uint8_t { length, alpha };

class candidates {
  public:
    // `count` for each city, or as many as there are others; at most limits::candidates_max. By alpha only of symmetric
    // instances of up to limits::alpha_cities_max cities; else by length.
    candidates(const instance& of, std::uint32_t count, nearness by = nearness::length);

    std::size_t count() const noexcept { return count_; }
    std::span<const city> of(city c) const noexcept { return row(there_, c); }
    // From which the way to c is short; the same as of(c) if the instance is symmetric.
    std::span<const city> into(city c) const noexcept {
        return row(back_.empty() ? there_ : back_, c);
    }
    // The place of `to` among those of `from`, or count().
    std::size_t place(city from, city to) const noexcept {
        const auto all = of(from);
        std::size_t i = 0;
        while (i < all.size() && all[i] != to)
            ++i;
        return i;
    }

  private:
    std::span<const city> row(const std::vector<city>& all, city c) const noexcept {
        return {all.data() + static_cast<std::size_t>(c) * count_, count_};
    }

    std::size_t count_;
    std::vector<city> there_, back_;
};

} // namespace troupe::tsp
