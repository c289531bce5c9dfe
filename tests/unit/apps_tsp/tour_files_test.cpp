// Files of tours.
#include <boost/test/unit_test.hpp>

#include "apps/tsp/tour_file.hpp"
#include "tests/support/made_files.hpp"
#include "tests/unit/apps_tsp/problems.hpp"

using namespace troupe;
using namespace troupe::tsp;

namespace {

instance square() {
    return instance::of_points("square", edge_weights::euclidean,
                               {{0, 0}, {0, 300}, {400, 300}, {400, 0}});
}

} // namespace

BOOST_AUTO_TEST_SUITE(tour_files_of_tsp)

BOOST_AUTO_TEST_CASE(tours_are_written_and_read_again) {
    const test::data_files files;
    const instance of = square();
    const std::vector<city> tour{2, 0, 1, 3};
    const std::string path = files.plain("x.tour", "old");
    BOOST_REQUIRE(write_tour(path, of, tour).ok());
    BOOST_TEST(read_tour(path, of).value() == tour, boost::test_tools::per_element());
    BOOST_TEST(files.read(path).find("COMMENT : Length 1600\n") != std::string::npos);
    BOOST_REQUIRE(write_picture(path, of, tour).ok());
    BOOST_TEST(files.read(path).find("points=\"1010,10 10,760 10,10 1010,760 \"") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(pictures_of_cities_on_a_globe_have_north_above) {
    const test::data_files files;
    const instance of = instance::of_points("x", edge_weights::geo,
                                            {{10, 20}, {60, 20}, {60, 30}}); // latitude first
    const std::vector<city> tour{0, 1, 2};
    const std::string path = files.plain("x.svg", "old");
    BOOST_REQUIRE(write_picture(path, of, tour).ok());
    BOOST_TEST(files.read(path).find("points=\"10,1010 10,10 210,10 \"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(tours_of_other_cities_are_refused) {
    const test::data_files files;
    const instance of = square();
    const auto refused = [&](const std::string& text) {
        const auto read = read_tour(files.plain("x.tour", text), of);
        BOOST_REQUIRE(!read.ok());
        const std::string& message = read.failure().message();
        return message.substr(message.find("x.tour: ") + 8);
    };
    BOOST_TEST(refused("TYPE : TOUR\nDIMENSION : 5\n") ==
               "line 2: a tour of 5 cities, but the problem has 4; give the tour of this problem");
    BOOST_TEST(refused("TOUR_SECTION\n1 2 3 -1\n") ==
               "line 2: the tour visits 3 cities instead of 4; give the tour of this problem");
    BOOST_TEST(refused("TOUR_SECTION\n1 2\n3 1\n-1\n") ==
               "line 3: city 1 stands twice; a tour visits each city once");
    BOOST_TEST(refused("TOUR_SECTION\n1 2 5 4 -1\n") ==
               "line 2: \"5\" is not the number of a city, 1 to 4");
    BOOST_TEST(refused("TYPE : TSP\n") == "line 1: TYPE \"TSP\" is no TOUR");
    BOOST_TEST(refused("NAME : x\n") ==
               "line 1: the file has no TOUR_SECTION; give a .tour of TSPLIB");
}

BOOST_AUTO_TEST_SUITE_END()
