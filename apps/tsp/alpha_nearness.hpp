// Alpha-nearness: how much longer a shortest spanning tree becomes if it must have an edge, after cities have been given
// weights that bring its degrees near two. What is alpha-near is far more often in the shortest tour than what is near, so
// that five to seven candidates do what ten nearest ones do.
//
// All of it on a few edges of each city, so that time and memory grow with the cities: 100 trees of sorted edges.
//
// Threads: functions. Source: Held, Karp, The traveling-salesman problem and minimum spanning trees II (1971); Helsgaun, An
// effective implementation of the Lin-Kernighan traveling salesman heuristic (2000).
#pragma once

#include <span>
#include <vector>

#include "apps/tsp/instance.hpp"

namespace troupe::tsp {

// For each city the `count` most alpha-near ones of those that `near` and the tour give it, the nearest by length first.
// near: as many for each city, more than `count`; symmetric instances.
std::vector<city> alpha_nearest(const instance& of, std::span<const city> near,
                                std::span<const city> tour, std::size_t count);

} // namespace troupe::tsp
