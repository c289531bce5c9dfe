// The result of the program "tsp".
//
//     tour.tour     the shortest tour, TSPLIB's
//     tour.svg      the same as a picture, if the cities have coordinates
//     course.csv    the length of each colony's best tour by the tours that each had built, when it had changed
//     summary.json  numbers of the whole
//
// Threads: functions without state; they block on files. Errors: errc::io with the file; errc::protocol for what no run
// has saved.
#pragma once

#include "actors/scheduled/program.hpp"

namespace troupe::tsp {

result<std::vector<std::string>> write_result(const scheduled::result_site& site,
                                              const scheduled::ended_run& run);

// The tour and its picture while the run goes on; `so_far`: int32, the shortest tour.
result<void> write_so_far(const scheduled::result_site& site, const scheduled::payload& so_far);

} // namespace troupe::tsp
