// The better parts of two tours in one (partition crossover): where the edges that only one of them has hang together is a
// part, and the parts of `other` that shorten `best` are taken over, as far as what comes of it is a tour.
//
// Threads: functions. Time: a few walks round the tour, and a few more for parts that make no tour; at most walks_max.
// Source: Whitley, Hains, Howe, Tunneling between optima: partition crossover for the traveling salesman problem (2009).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "apps/tsp/instance.hpp"

namespace troupe::tsp {

// By how much `best` is shorter now. Both are tours of a symmetric instance.
std::int64_t merge(const instance& of, std::vector<city>& best, std::span<const city> other);

} // namespace troupe::tsp
