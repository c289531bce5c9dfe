// A tour to begin with: the shortest candidate edges that fit together, then the shortest ones that join what has come of
// them.
//
// Threads: functions without state. Time: linear in the cities, nearly, where there are coordinates; else quadratic.
// Source: Bentley, Fast algorithms for geometric travelling salesman problems (1992): greedy.
#pragma once

#include <vector>

#include "apps/tsp/candidates.hpp"
#include "apps/tsp/instance.hpp"
#include "schemas/base/random.hpp"

namespace troupe::tsp {

std::vector<city> first_tour(const instance& of, const candidates& near);
// One of many such tours: edges count as longer than they are by a random part of a quarter, and a matrix's tour begins at
// a random city.
std::vector<city> first_tour(const instance& of, const candidates& near, random_stream& random);

// From each city to the nearest that has not been visited, from `start` on; the lowest number of equally near ones.
std::vector<city> nearest_neighbour_tour(const instance& of, const candidates& near, city start);

} // namespace troupe::tsp
