// Fuzz target: arbitrary bytes as a problem of TSPLIB or a CSV of coordinates, and as a tour; plain or gzip.
#include "apps/tsp/instance_file.hpp"
#include "apps/tsp/tour_file.hpp"
#include "apps/tsp/tsp_limits.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/made_files.hpp"

namespace troupe::fuzz {

bool read(std::span<const std::byte> in) {
    static const tsp::instance square = tsp::instance::of_points(
        "square", tsp::edge_weights::euclidean, {{0, 0}, {0, 300}, {400, 300}, {400, 0}});
    static memory_file file;
    const std::string name = file.with(in);
    const auto problem = tsp::read_cities_file(name);
    if (!problem)
        check_refusal(problem.failure());
    else {
        const tsp::instance& of = problem->problem;
        TROUPE_CHECK(of.cities() >= tsp::limits::cities_min, "a tour has three cities");
        const auto last = static_cast<tsp::city>(of.cities() - 1);
        TROUPE_CHECK(of.length(0, last) >= 0, "no length is below 0");
        TROUPE_CHECK(!of.is_symmetric() || of.length(0, last) == of.length(last, 0),
                     "a way is as long as the way back");
    }
    const auto tour = tsp::read_tour(name, square);
    if (!tour)
        check_refusal(tour.failure());
    else
        TROUPE_CHECK(tsp::is_tour(*tour, square.cities()), "a tour visits each city once");
    return problem.ok() || tour.ok();
}

std::vector<std::string> sound_inputs() {
    const test::data_files files;
    std::vector<std::string> all{
        "NAME : square\nTYPE : TSP\nDIMENSION : 4\nEDGE_WEIGHT_TYPE : EUC_2D\n"
        "NODE_COORD_SECTION\n1 0 0\n2 0 3e2\n3 4.5 -3\n4 4 0\nEOF\n",
        "DIMENSION: 3\nEDGE_WEIGHT_TYPE: GEO\nNODE_COORD_SECTION\n1 38.24 20.42\n2 0 180\n"
        "3 -90 1\n",
        "TYPE: ATSP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: FULL_MATRIX\n"
        "EDGE_WEIGHT_SECTION\n0 1 2\n3 0 4 5 6\n0\n",
        "DIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: LOWER_DIAG_ROW\n"
        "EDGE_WEIGHT_SECTION\n0 1 0 2 3 0\nDISPLAY_DATA_SECTION\n1 0 0\n2 1 1\n3 0 1\nEOF\n",
        "x,y\n0,0\n0,300\n400,300\n",
        "NAME : a\nTYPE : TOUR\nDIMENSION : 4\nTOUR_SECTION\n1\n3\n2\n4\n-1\nEOF\n"};
    all.push_back(files.read(files.gzip("x.gz", all[0])));
    return all;
}

} // namespace troupe::fuzz
