// Makes a tour shorter by the edges of another one (edge assembly crossover): edges that only one of them has form
// closed ways of both by turns, and each such cycle is an exchange of edges, of any number. Where it leaves several closed
// ways instead of a tour, these are joined again by the exchanges of two edges that cost least.
//
// merge() (tour_merge.hpp) takes over parts that hang together, as they are; cycles divide them further.
//
// Threads: one. The instance, which is symmetric, and the candidates outlive it. Memory: linear in the cities. Time: a walk
// round the tour for each cycle that is taken over; for one that is only tried that of sorting its edges, and for each
// closed way that it leaves a look at all of them. Source: Nagata, Kobayashi, A powerful genetic algorithm using edge
// assembly crossover for the traveling salesman problem (2013), the strategy of single cycles.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "apps/tsp/candidates.hpp"
#include "apps/tsp/instance.hpp"
#include "apps/tsp/neighbours.hpp"
#include "schemas/base/random.hpp"

namespace troupe::tsp {

class tour_crossing {
  public:
    static constexpr std::size_t cities_min = 8; // of tours that are crossed

    tour_crossing(const instance& of, const candidates& near);

    // Takes over up to `most` cycles that shorten `mine`, those of the largest gain first; by how much it is shorter now.
    // Which cycles there are is drawn where more than one edge could be the next.
    std::int64_t shorten(std::vector<city>& mine, std::span<const city> other, std::size_t most,
                         random_stream& random);

  private:
    using index = std::uint32_t;
    // Cities, in cycles_: an edge of `mine` from the first to the second, one of the other tour to the third, and so on.
    struct cycle {
        index first, count;
        std::int64_t gain; // of its edges
    };
    // A place behind which the tour is cut, and which cities of the cycle, by their number in it, lie before and behind.
    struct cut {
        index place, before, behind;
    };
    // From one cut to the next; the closed way that it is on.
    struct stretch {
        index first, last; // numbers in the cycle
        index cities, way;
    };

    void read(std::span<const city> mine, std::span<const city> other);
    void find_cycles(random_stream& random);
    void walk(city start, random_stream& random);
    city take_edge(std::size_t side, city from, random_stream& random);
    void keep_cycle(std::size_t first, std::size_t last);
    bool is_there(std::span<const city> cities) const;
    std::int64_t gain_of(std::span<const city> cities, std::int64_t gain);
    void take_over(std::vector<city>& mine);
    void cut_tour(std::span<const city> cities);
    std::size_t find_ways(std::size_t cities);
    std::int64_t join_ways(std::int64_t gain, std::size_t ways);
    std::int64_t join_shortest();
    void exchange_edges(std::span<const city> cities);
    void replace(city at, city neighbour, city by);
    std::size_t stretch_of(city c) const;
    void take_back();

    const instance& of_;
    const candidates& near_;
    std::span<const city> order_; // of `mine`
    std::vector<index> places_;
    std::vector<neighbours> now_; // in `mine`, and as it is changed
    std::array<std::vector<neighbours>, 2>
        left_;                               // edges of one tour alone that are in no cycle yet
    std::vector<std::array<index, 2>> seen_; // on path_, before an edge of either
    std::vector<city> path_, cycles_;
    std::vector<cycle> found_;
    std::vector<cut> cuts_;
    std::vector<stretch> stretches_;
    std::vector<std::pair<city, neighbours>> changed_;
};

} // namespace troupe::tsp
