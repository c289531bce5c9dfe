// The focused colony: an ant does not build a tour from nothing, but changes a few edges of the colony's current one, where
// trails lead it, and a local search from the ends of these edges alone repairs it. What makes the tour longer by too much
// is taken back, so that an ant costs what it changes, whatever the number of cities.
//
// An ant cuts the current tour behind four cities that follow each other on it closely, and joins the stretches between in
// the opposite order, none of them reversed (the double bridge of Martin, Otto, Felten 1991, which searches by few
// exchanges do not undo); the first of its new edges is a candidate, chosen by trails and nearness. How much longer an ant
// may make the current tour falls in cycles (annealing of large steps: Martin, Otto, Felten 1992), each of which begins
// where the one before has ended, of asymmetric problems with the best tour. The parts of the tour at its end that are
// better go into the best one, as do those of tours from other colonies; and after some cycles the best one is what the
// tours at the ends of the last ones give together, if that is shorter (tour_pool.hpp): what is wrong with the best tour is
// seldom wrong with all of them. If it is not shorter, the next cycle begins with a tour made anew, which is drawn, so that
// a colony does not stay where it has begun. Each colony begins with a tour that its seed draws. Every few ants trails
// evaporate and the best tour is laid, between the limits of max-min.
//
// Sources: Skinderowicz, Improving ant colony optimization efficiency for solving large TSP instances (2022); Stützle,
// Hoos, MAX-MIN ant system (2000); Martin, Otto, Felten, Large-step Markov chains for the TSP incorporating local search
// heuristics (1992).
#pragma once

#include <optional>

#include "apps/tsp/colony.hpp"
#include "apps/tsp/tour_pool.hpp"
#include "apps/tsp/trails.hpp"
#include "schemas/base/random.hpp"

namespace troupe::tsp {

class focused_colony final : public colony {
  public:
    focused_colony(const instance& of, const candidates& near, const colony_settings& settings,
                   std::uint64_t seed);

    result<std::uint64_t> advance(std::uint64_t tours, operations& with) override;
    std::span<const city> best() const noexcept override { return best_; }
    std::int64_t best_length() const noexcept override { return best_length_; }
    bool take_in(std::span<const city> tour) override;
    colony_report report() const override;
    colony_state save() const override;
    result<void> load(const colony_state& state) override;

  private:
    struct cuts { // places behind which the tour is cut are first - 1 and those after each stretch
        std::size_t first, left, middle, right;
    };
    void begin();
    void send_ant();
    double warmth() const noexcept;
    void end_cycle();
    void improve_all();
    std::int64_t change_few_edges(random_stream& random);
    std::int64_t shuffle(random_stream& random);
    cuts choose_cuts(random_stream& random);
    result<void> lay_trails(operations& with);

    const instance& of_;
    const candidates& near_;
    const colony_settings settings_;
    const std::uint64_t seed_, iteration_ants_;
    std::unique_ptr<improver> improver_;
    trails trails_;
    tour current_;
    std::int64_t current_length_ = 0;
    std::vector<city> best_;
    std::int64_t best_length_ = 0;
    std::uint64_t ants_ = 0;
    std::int64_t iteration_sum_ = 0; // of lengths, since trails were laid
    double mean_ = 0;                // of the iteration before
    std::optional<tour_pool>
        pool_; // of tours that can be crossed: symmetric, of a few cities at least
};

} // namespace troupe::tsp
