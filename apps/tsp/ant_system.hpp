// Colonies whose ants build whole tours, city by city: the Ant System, MAX-MIN and the Ant Colony System.
//
// Ants build tours, and trails follow from these, by the operations of kernels/ops/tours.hpp. Each tour may be improved by a
// local search. Memory grows with the cities, unless their lengths are a matrix, and with the ants of an iteration, whose
// tours are held until trails have been laid.
//
// A tour that comes from elsewhere lays a trail as one that is found here: in the ant system as one ant more, in max-min as
// the best one since the restart, in the ant colony system as the best one.
//
// Sources: Dorigo, Maniezzo, Colorni, Ant system (1996); Stützle, Hoos, MAX-MIN ant system (2000), with the parameters of
// ACOTSP; Dorigo, Gambardella, Ant colony system (1997).
#pragma once

#include "apps/tsp/colony.hpp"
#include "apps/tsp/trails.hpp"

namespace troupe::tsp {

class ant_system final : public colony {
  public:
    ant_system(const instance& of, const candidates& near, const colony_settings& settings,
               std::uint64_t seed);

    result<std::uint64_t> advance(std::uint64_t tours, operations& with) override;
    std::span<const city> best() const noexcept override { return best_.order; }
    std::int64_t best_length() const noexcept override { return best_.length; }
    bool take_in(std::span<const city> tour) override;
    colony_report report() const override;
    colony_state save() const override;
    result<void> load(const colony_state& state) override;

    const trails& all_trails() const noexcept { return trails_; }

  private:
    struct built {
        std::vector<city> order;
        std::int64_t length = 0;
    };
    // Operands by which construct_tours finds the nearest city: one of both.
    struct ways {
        tensor places, lengths;
    };
    static ways ways_of(const instance& of, memory_pool& memory);
    result<void> build(operations& with);
    result<void> iterate(operations& with);
    void improve(std::span<city> order);
    result<void> lay_all(operations& with, std::span<const std::int64_t> lengths);
    result<void> lay_best(operations& with, const built& shortest);
    std::uint64_t period_of_best() const noexcept;
    double ways_of_edge() const noexcept;
    double lowest_trail(double highest) const noexcept;

    const instance& of_;
    const colony_settings settings_; // with what is usual filled in
    const std::uint64_t seed_;
    const double start_trail_;
    std::unique_ptr<improver> improver_;
    memory_pool memory_;
    trails trails_;
    ways ways_;
    tensor tours_; // of an iteration
    built best_;
    std::uint64_t iterations_ = 0;
    // Max-min: since trails were last made equal.
    std::uint64_t restarted_at_ = 0, restart_best_at_ = 0;
    built
        restart_best_; // of the ant system: what has come from elsewhere and has not laid a trail yet
    double mean_ = 0;
};

} // namespace troupe::tsp
