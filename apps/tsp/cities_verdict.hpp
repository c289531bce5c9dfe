// Whether tours through the cities of a file say anything: lengths are rounded to whole units, and places on a globe are
// degrees and minutes. Pure.
#pragma once

#include <string>
#include <vector>

#include "apps/tsp/instance.hpp"

namespace troupe::tsp {

struct cities_verdict {
    std::string refusal;            // a sentence that says what to do; empty: there is none
    std::vector<std::string> notes; // on what may not be intended, a sentence each
};

// Refused are cities whose ways to the nearest ones are off by more than half on average once they are rounded; by more than
// a tenth there is a note, unless all coordinates are whole. Of many cities it is the average of an even sample. Takes
// memory for all places, and a second or so for a million.
cities_verdict judge(const instance& of);

} // namespace troupe::tsp
