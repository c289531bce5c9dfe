// A tour as an array: the cities in their order, and the place of each in it. Changes are reversals of stretches, which are
// written down, so that what has been done since a mark can be undone.
//
// Places count from 0 and go round. A reversal takes time in proportion to the stretch or, where `is_either_way`, to the
// rest if that is shorter: then the tour is run through the other way.
//
// Threads: one.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "apps/tsp/instance.hpp"

namespace troupe::tsp {

class tour {
  public:
    explicit tour(std::vector<city> order);

    std::size_t cities() const noexcept { return order_.size(); }
    std::span<const city> order() const noexcept { return order_; }
    city at(std::size_t place) const noexcept { return order_[place]; }
    std::size_t place_of(city c) const noexcept { return places_[static_cast<std::size_t>(c)]; }
    city next(city c) const noexcept {
        const std::size_t p = place_of(c) + 1;
        return order_[p == order_.size() ? 0 : p];
    }
    city previous(city c) const noexcept {
        const std::size_t p = place_of(c);
        return order_[p == 0 ? order_.size() - 1 : p - 1];
    }

    // Reverses `count` places from `first` on, round the end if it comes to that.
    void reverse(std::size_t first, std::size_t count);
    // The same closed way: reverses the other places if they are fewer.
    void reverse_either_way(std::size_t first, std::size_t count);
    // Exchanges the stretches of `left` places from `first` on and of the `right` places behind them; neither is reversed.
    void exchange(std::size_t first, std::size_t left, std::size_t right);

    // The same closed way: exchanges those two of the three stretches, which go round the tour, that are the shortest.
    void exchange_any_way(std::size_t first, std::size_t left, std::size_t right);

    // Forgets what has been done so far: it stays.
    void keep() noexcept { done_.clear(); }
    // Takes back what has been done since the last keep().
    void undo();

  private:
    struct stretch {
        std::size_t first;
        std::size_t count;
    };
    void turn(stretch s) noexcept;
    std::size_t round(std::size_t place) const noexcept {
        return place >= order_.size() ? place - order_.size() : place;
    }

    std::vector<city> order_;
    std::vector<std::uint32_t> places_;
    std::vector<stretch> done_;
};

} // namespace troupe::tsp
