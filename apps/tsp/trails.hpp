// Trails of pheromone on candidate edges alone, so that memory grows with the cities; and the weights by which ants choose:
// trail^alpha / length^beta.
//
// Of symmetric problems a trail lies on both ways of an edge, as far as each end is a candidate of the other.
//
// Threads: one. Source: Dorigo, Stützle, Ant colony optimization (2004).
#pragma once

#include <span>
#include <vector>

#include "apps/tsp/candidates.hpp"
#include "apps/tsp/instance.hpp"

namespace troupe::tsp {

class trails {
  public:
    struct powers {
        double trail = 1;  // alpha
        double length = 2; // beta
    };
    trails(const instance& of, const candidates& near, powers by);

    void fill(double value) { std::fill(values_.begin(), values_.end(), value); }
    void evaporate(double share) noexcept;
    // Adds to the edges of a closed tour.
    void deposit(std::span<const city> tour, double amount) noexcept;
    void clamp(double low, double high) noexcept;
    // value = (1 - share) value + share * to, on one edge, with its weights; and on those of a tour, without them.
    void mix(city from, std::size_t place, double share, double to) noexcept;
    void mix(std::span<const city> tour, double share, double to) noexcept;

    // After changes to trails.
    void weigh();
    std::span<const double> weights(city c) const noexcept { return row(weights_, c); }

    // How many candidates of a city have more than a little trail, on average: 1 and a little where the colony has
    // converged.
    double branching_factor() const noexcept;

    std::span<const double> values() const noexcept { return values_; }
    // As many as there are; weighs them.
    void set(std::vector<double> values);

  private:
    std::span<const double> row(const std::vector<double>& all, city c) const noexcept {
        return {all.data() + static_cast<std::size_t>(c) * near_.count(), near_.count()};
    }
    double weight(std::size_t at) const noexcept;
    template <class Change>
    void for_each_edge(std::span<const city> tour, Change change) noexcept;

    const candidates& near_;
    const bool is_symmetric_;
    const powers by_;
    std::vector<double> values_, nearness_, weights_;
};

} // namespace troupe::tsp
