// How an ant builds a tour: from a city to a candidate that it has not visited, by trails and nearness, and where there is
// none to the nearest city that is left.
//
// Threads: one. The instance and the candidates outlive it.
#pragma once

#include <vector>

#include "apps/tsp/choice.hpp"
#include "apps/tsp/trails.hpp"

namespace troupe::tsp {

class tour_builder {
  public:
    // As the ant colony system has it: how often the best candidate is taken outright, and how far a trail that is taken
    // falls back to where it began.
    struct greed {
        double share = 0;
        double taken_up = 0;
        double trail = 0;
    };
    tour_builder(const instance& of, const candidates& near, choice_kind choice, greed how);

    // Changes the trails if some are taken up. Valid until the next call.
    std::span<const city> build(trails& by, random_stream& random);

  private:
    std::size_t choose_candidate(city from, const trails& by, random_stream& random);
    city nearest_left(city from) const;
    bool is_left(city c) const noexcept;
    void visit(city c);

    const instance& of_;
    const candidates& near_;
    const choice_kind choice_;
    const greed greed_;
    std::vector<city> order_;
    std::vector<city> left_;            // not visited, in no order
    std::vector<std::uint32_t> places_; // of cities in left_
    std::vector<double> weights_;
};

} // namespace troupe::tsp
