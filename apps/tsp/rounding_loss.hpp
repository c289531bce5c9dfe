// The loss of lengths as they are rounded to whole units, which is nearly all where cities lie near each other: then tours
// say nothing. Pure.
#pragma once

#include "apps/tsp/instance.hpp"

namespace troupe::tsp {

// The mean share by which the way to the nearest city is off, at most 1 for each; 0 of a matrix. Of many cities it is that
// of an even sample. Takes memory for all places, and a second or so for a million.
double rounding_loss(const instance& of);

} // namespace troupe::tsp
