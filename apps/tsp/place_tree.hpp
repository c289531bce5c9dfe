// A k-d tree of places: the nearest ones to any of them. Memory grows with the places; many on one spot do no harm.
//
// Threads: one; `nearest` uses memory of its own.
// Source: Bentley, Multidimensional binary search trees used for associative searching (1975).
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "apps/tsp/instance.hpp"

namespace troupe::tsp {

class place_tree {
  public:
    explicit place_tree(std::vector<place> places);

    // The `count` places nearest to place `of`, without itself, nearest first and of equal ones the lowest number; fewer if
    // there are not so many. Valid until the next call.
    std::span<const std::size_t> nearest(std::size_t of, std::size_t count);
    // The nearest of those in one quadrant around it, by the first two coordinates: bit 0 is set where x is not below,
    // bit 1 where y is not below.
    std::span<const std::size_t> nearest_in(unsigned quadrant, std::size_t of, std::size_t count);

  private:
    enum class side : unsigned char { any, below, not_below };
    struct found {
        double distance;
        std::size_t number;

        auto operator<=>(const found&) const = default;
    };
    void split(std::size_t first, std::size_t end);
    std::span<const std::size_t> found_for(std::size_t of, std::size_t count);
    void search(std::size_t first, std::size_t end, const place& from, std::size_t count,
                std::size_t without);
    bool is_inside(const place& p, const place& from) const noexcept;
    void look_at(std::size_t number, const place& from, std::size_t count);

    std::vector<place> places_;
    std::vector<std::size_t> order_;  // of places: both sides of a range's middle are its subtrees
    std::vector<unsigned char> axes_; // along which the middle at this index divides its range
    std::array<side, 3> sides_{};     // of the place from which is searched, by axis
    std::vector<found> heap_;         // the best ones so far, the farthest first
    std::vector<std::size_t> numbers_;
};

} // namespace troupe::tsp
