// Files of problems.
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <numeric>

#include "apps/tsp/instance_file.hpp"
#include "tests/shared_data.hpp"
#include "tests/support/made_files.hpp"
#include "tests/unit/apps_tsp/problems.hpp"

using namespace troupe;
using namespace troupe::test;
using namespace troupe::tsp;

namespace {

const std::string square = "DIMENSION: 4\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n"
                           "1 0 0\n2 0 300\n3 400 300\n4 400 0\nEOF\n";

template <class T>
T taken(result<T> read) {
    if (!read.ok())
        BOOST_FAIL(read.failure().message());
    return std::move(read).value();
}

std::string refusal(const std::string& text) {
    const test::data_files files;
    const auto read = read_cities_file(files.plain("x.tsp", text));
    BOOST_REQUIRE(!read.ok());
    const std::string& message = read.failure().message();
    BOOST_TEST((read.failure().code() == errc::data));
    return message.substr(message.find("x.tsp: ") + 7);
}

cities_file read_file(const std::string& text) {
    const test::data_files files;
    return taken(read_cities_file(files.plain("x.tsp", text)));
}

instance read(const std::string& text) {
    return read_file(text).problem;
}

std::string explicit_file(const std::string& format, const std::string& lengths,
                          const std::string& type = "TSP") {
    return "NAME : m\nTYPE : " + type +
           "\nDIMENSION : 3\nEDGE_WEIGHT_TYPE : EXPLICIT\nEDGE_WEIGHT_FORMAT : " + format +
           "\nEDGE_WEIGHT_SECTION\n" + lengths + "\nEOF\n";
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    return text.replace(text.find(what), what.size(), by);
}

} // namespace

BOOST_AUTO_TEST_SUITE(files_of_tsp)

BOOST_AUTO_TEST_CASE(known_problems_have_their_known_lengths) {
    struct known {
        const char* name;
        std::size_t cities;
        std::int64_t identity;
    };
    for (const known& k :
         {known{"att48", 48, 49840}, known{"eil51", 51, 1308}, known{"berlin52", 52, 22205}}) {
        const std::string path = TROUPE_SHARED_DATA "/tsplib/" + std::string{k.name} + ".tsp";
        if (!std::filesystem::exists(path)) {
            BOOST_TEST_MESSAGE("skipped: there is no " << path);
            continue;
        }
        const instance made = taken(read_cities_file(path)).problem;
        BOOST_TEST(made.name() == k.name);
        std::vector<city> order(k.cities);
        std::iota(order.begin(), order.end(), 0);
        BOOST_TEST(made.cities() == k.cities);
        BOOST_TEST(made.length_of(order) == k.identity);
    }
}

BOOST_AUTO_TEST_CASE(lengths_are_rounded_as_their_kind_says) {
    const auto points = [](edge_weights kind) {
        return instance::of_points("p", kind, {{0, 0}, {1, 1}, {3, 4}});
    };
    BOOST_TEST(points(edge_weights::euclidean).length(0, 1) == 1);
    BOOST_TEST(points(edge_weights::euclidean_up).length(0, 1) == 2);
    BOOST_TEST(points(edge_weights::euclidean_up).length(0, 2) == 5);
    BOOST_TEST(points(edge_weights::att).length(0, 1) == 1);
    BOOST_TEST(points(edge_weights::att).length(0, 2) == 2);
    const auto off = [](edge_weights kind) {
        return instance::of_points("p", kind, {{0, 0}, {1.4, -2.4}, {-3.5, 1.2}}).length(0, 1);
    };
    BOOST_TEST(off(edge_weights::maximum) == 2);
    BOOST_TEST(off(edge_weights::manhattan) == 4); // of 3.8, not of 1 and 2
    BOOST_TEST(points(edge_weights::maximum).length(0, 2) == 4);
    BOOST_TEST(points(edge_weights::manhattan).length(0, 2) == 7);
    // ulysses16 of TSPLIB: 1 to 2 is 509.
    const auto globe =
        instance::of_points("g", edge_weights::geo, {{38.24, 20.42}, {39.57, 26.15}, {0, 0}});
    BOOST_TEST(globe.length(0, 1) == 509);
    BOOST_TEST(globe.length(1, 0) == 509);
    BOOST_TEST(globe.length(1, 1) == 0);
}

BOOST_AUTO_TEST_CASE(a_length_is_compared_as_it_is_rounded) {
    for (const auto kind : {edge_weights::euclidean, edge_weights::euclidean_up, edge_weights::att,
                            edge_weights::maximum, edge_weights::manhattan}) {
        const instance of = random_cities(60, 3, kind);
        for (city a = 0; a < 60; ++a)
            for (city b = 0; b < 60; ++b)
                for (std::int64_t l = of.length(a, b) - 2; l <= of.length(a, b) + 2; ++l)
                    BOOST_REQUIRE(of.is_at_least(l, a, b) == (of.length(a, b) >= l));
    }
}

BOOST_AUTO_TEST_CASE(a_matrix_is_read_in_each_of_its_forms) {
    for (const auto& [format, lengths] :
         std::vector<std::pair<std::string, std::string>>{{"FULL_MATRIX", "0 1 2\n1 0 3\n2 3 0"},
                                                          {"UPPER_ROW", "1 2 3"},
                                                          {"LOWER_ROW", "1\n2 3"},
                                                          {"UPPER_DIAG_ROW", "0 1 2 0 3 0"},
                                                          {"LOWER_DIAG_ROW", "0\n1 0\n2 3 0"},
                                                          {"UPPER_COL", "1 2 3"},
                                                          {"LOWER_COL", "1 2 3"},
                                                          {"UPPER_DIAG_COL", "0 1 0 2 3 0"},
                                                          {"LOWER_DIAG_COL", "0 1 2 0 3\n\n 0"}}) {
        const instance made = read(explicit_file(format, lengths));
        BOOST_TEST_CONTEXT(format) {
            BOOST_TEST(made.is_symmetric());
            BOOST_TEST(made.length(0, 1) == 1);
            BOOST_TEST(made.length(2, 0) == 2);
            BOOST_TEST(made.length(1, 2) == 3);
        }
    }
    const instance one_way = read(explicit_file("FULL_MATRIX", "9 1 2 4 9 3 5 6 9", "ATSP"));
    BOOST_TEST(!one_way.is_symmetric());
    BOOST_TEST(one_way.length(0, 1) == 1);
    BOOST_TEST(one_way.length(1, 0) == 4);
    BOOST_TEST(one_way.length_of(std::vector<city>{0, 1, 2}) == 1 + 3 + 5);
}

BOOST_AUTO_TEST_CASE(coordinates_in_csv_are_read) {
    const test::data_files files;
    for (const std::string text : {"0,0\n0,300\n400,300\n", "x;y\r\n 0;0\r\n\r\n0;3e2\r\n400;300",
                                   "0\t0\n0\t300\n400\t300\n"}) {
        const instance made = taken(read_cities_file(files.plain("towns.csv", text))).problem;
        BOOST_TEST(made.name() == "towns");
        BOOST_TEST(made.length(0, 2) == 500);
    }
    BOOST_TEST(taken(read_cities_file(files.gzip("square.tsp.gz", square))).problem.cities() == 4u);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_used_is_refused_by_a_line_that_says_where) {
    BOOST_TEST(refusal("") == "line 1: the file holds no cities");
    BOOST_TEST(refusal(replaced(square, "EUC_2D", "XRAY1")) ==
               "line 2: EDGE_WEIGHT_TYPE \"XRAY1\" is not supported; give EUC_2D, CEIL_2D, "
               "MAX_2D, MAN_2D, ATT or GEO, or EXPLICIT with a matrix of the lengths");
    BOOST_TEST(refusal("TYPE: CVRP\n" + square) ==
               "line 1: TYPE \"CVRP\" is not supported; give a TSP or an ATSP");
    BOOST_TEST(refusal(replaced(square, ": 4", ": 2")) ==
               "line 1: a tour of 2 cities; give 3 or more");
    BOOST_TEST(refusal(replaced(square, ": 4", ": 1")) ==
               "line 1: a tour of 1 city; give 3 or more");
    BOOST_TEST(refusal(replaced(square, ": 4", ": -4")) ==
               "line 1: DIMENSION \"-4\" is not a whole number");
    BOOST_TEST(refusal(replaced(square, ": 4", ": 5")) ==
               "line 8: 4 cities in NODE_COORD_SECTION, but DIMENSION is 5; give all of them");
    BOOST_TEST(refusal(replaced(square, ": 4", ": 4000000")) ==
               "line 3: the file is too short for 4000000 cities; mend DIMENSION, or give all of "
               "them");
    BOOST_TEST(refusal(replaced(square, ": 4", ": 99999999999999")) ==
               "line 1: more than 4194304 cities; give fewer");
    BOOST_TEST(refusal(replaced(square, "0 300", "0 north")) ==
               "line 5: \"north\" is not a number; write decimals with a point, as -1.5 or 1e-3");
    BOOST_TEST(refusal(replaced(square, "0 300", "nan 300")).starts_with("line 5: \"nan\" is not"));
    BOOST_TEST(refusal(replaced(square, "0 300", "0 3e9")) ==
               "line 5: the coordinate \"3e9\" is beyond 1e9; scale all of them");
    BOOST_TEST(refusal(replaced(square, "2 0", "1 0")) ==
               "line 5: city 1 stands twice; leave one out");
    BOOST_TEST(refusal(replaced(square, "2 0", "7 0")) ==
               "line 5: \"7\" is not the number of a city, 1 to 4");
    BOOST_TEST(refusal(replaced(square, "EUC_2D", "EXPLICIT")) ==
               "line 8: the file has no EDGE_WEIGHT_SECTION; give the lengths");
    BOOST_TEST(refusal(square.substr(13)) ==
               "line 2: the file has no DIMENSION; give the number of cities");
    for (const std::string key : {"DIMENSION: 4", "NAME: a", "TYPE: TSP", "EDGE_WEIGHT_TYPE: ATT",
                                  "EDGE_WEIGHT_FORMAT: FUNCTION", "NODE_COORD_TYPE: TWOD_COORDS"})
        BOOST_TEST(refusal(key + "\n" + key + "\n" + square) ==
                   "line 2: " + key.substr(0, key.find(':')) + " stands twice; leave one out");
    BOOST_TEST(refusal(replaced(square, "EOF", "NODE_COORD_SECTION")) ==
               "line 8: NODE_COORD_SECTION stands twice; leave one out");
    BOOST_TEST(read("COMMENT: one\nCOMMENT: two\n" + square).cities() == 4u);
}

// Each form that files have is read, or refused by a sentence that says what to do.
BOOST_AUTO_TEST_CASE(each_form_of_tsplib_is_read_or_refused_with_what_to_do) {
    struct form {
        const char* name;
        std::string text;
        std::string refused; // empty: it is read, and the tour 1 2 3 4 is 1400 long
    };
    const std::string type = "EDGE_WEIGHT_TYPE \"", types = "\" is not supported; give EUC_2D";
    std::vector<form> forms{
        {"as it should be", square, ""},
        {"eof", replaced(square, "EOF", "eof"), ""},
        {"Eof", replaced(square, "EOF", "Eof"), ""},
        {"a section that ends as tours do", replaced(square, "EOF", "-1\nEOF"), ""},
        {"no EOF", replaced(square, "EOF\n", ""), ""},
        {"a keyword in small letters", replaced(square, "DIMENSION", "dimension"), ""},
        {"a type in small letters", replaced(square, "EUC_2D", "euc_2d"), ""},
        {"a section in small letters", replaced(square, "NODE_COORD_SECTION", "node_coord_section"),
         ""},
        {"a type of problem in small letters", "type: tsp\n" + square, ""},
        {"a keyword in mixed letters", "Name: c8\n" + square, ""},
        {"no colon", replaced(square, "DIMENSION: 4", "DIMENSION 4"), ""},
        {"a colon behind a section", replaced(square, "SECTION", "SECTION:"), ""},
        {"a name without a colon", "name c8\n" + square, ""},
        {"cities from 0",
         replaced(
             replaced(replaced(replaced(square, "1 0 0", "0 0 0"), "2 0", "1 0"), "3 4", "2 4"),
             "4 400 0", "3 400 0"),
         ""},
        {"cities from 0 and from 1", replaced(square, "2 0", "0 0"),
         "line 7: the cities of NODE_COORD_SECTION are numbered 0 and 4, but not 2; number them "
         "from 1 to 4"},
        {"the dimension behind the section",
         replaced(replaced(square, "DIMENSION: 4\n", ""), "EOF", "DIMENSION: 4\nEOF"), ""},
        {"a bad dimension behind the section",
         replaced(replaced(square, "DIMENSION: 4\n", ""), "EOF", "DIMENSION: four\nEOF"),
         "line 7: DIMENSION \"four\" is not a whole number"},
        {"a dimension behind EOF", square.substr(13) + "DIMENSION: 4\n",
         "line 2: the file has no DIMENSION; give the number of cities"},
        {"the type of lengths behind the section",
         replaced(replaced(square, "EDGE_WEIGHT_TYPE: EUC_2D\n", ""), "EOF",
                  "EDGE_WEIGHT_TYPE: EUC_2D\nEOF"),
         ""},
        {"the format behind the section",
         "EDGE_WEIGHT_SECTION\n300 500 400\n400 500\n300\nEDGE_WEIGHT_TYPE: EXPLICIT\n"
         "EDGE_WEIGHT_FORMAT: UPPER_ROW\nDIMENSION: 4\nEOF\n",
         ""},
        {"no format",
         "DIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_SECTION\n0 1 2\n1 0 3\n2 3 "
         "0\nEOF\n",
         "line 3: the file has no EDGE_WEIGHT_FORMAT; say how the lengths are written, as by "
         "FULL_MATRIX"},
        {"coordinates of a small square",
         replaced(replaced(replaced(replaced(square, "0 300", "0 0.3"), "400 300", "0.4 0.3"),
                           "400 0", "0.4 0"),
                  "EUC_2D", "CEIL_2D"),
         "line 8: lengths are rounded to whole units, by which the ways to the nearest cities are "
         "off by 100% on average; scale the coordinates, as by 1000"}};
    for (const char* other :
         {"MAX_3D", "MAN_3D", "EUC_3D", "CEIL_3D", "GEOM", "XRAY1", "XRAY2", "SPECIAL"})
        forms.push_back({other, replaced(square, "EUC_2D", other),
                         "line 2: " + type + other + types +
                             ", CEIL_2D, MAX_2D, MAN_2D, ATT or GEO, or EXPLICIT with a matrix of "
                             "the lengths"});
    for (const form& f : forms)
        BOOST_TEST_CONTEXT(f.name) {
            if (f.refused.empty())
                BOOST_TEST(read(f.text).length_of(std::vector<city>{0, 1, 2, 3}) == 1400);
            else
                BOOST_TEST(refusal(f.text) == f.refused);
        }
    // Whole coordinates are the format's own, as those of eil51.
    BOOST_TEST(read("DIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 0 3\n"
                    "3 4 3\nEOF\n")
                   .length(0, 2) == 5);
}

BOOST_AUTO_TEST_CASE(a_dimension_that_is_too_small_is_named_with_the_number_of_cities) {
    const std::string more = " cities in NODE_COORD_SECTION, but DIMENSION is 3; mend DIMENSION, "
                             "or leave the others out";
    const std::string three = replaced(square, ": 4", ": 3");
    BOOST_TEST(refusal(three) == "line 8: 4" + more);
    BOOST_TEST(refusal(replaced(three, "EOF\n", "5 7 7\n6 8 8\n")) == "line 9: 6" + more);
    BOOST_TEST(refusal(replaced(three, "2 0 300", "4 0 300")) == "line 8: 4" + more);
    const std::string display = replaced(square, "EOF", "DISPLAY_DATA_SECTION") +
                                "1 0 0\n2 0 1\n3 1 1\n4 1 0\n5 2 2\nEOF\n";
    BOOST_TEST(refusal(display) == "line 14: 5 cities in DISPLAY_DATA_SECTION, but DIMENSION is 4; "
                                   "mend DIMENSION, or leave the others out");
    const std::string matrix = " in EDGE_WEIGHT_SECTION, those of 4 cities, but DIMENSION is 3; "
                               "mend DIMENSION";
    BOOST_TEST(refusal(explicit_file("FULL_MATRIX", "0 1 2 3\n1 0 4 5\n2 4 0 6\n3 5 6 0")) ==
               "line 11: 16 lengths" + matrix);
    BOOST_TEST(refusal(explicit_file("LOWER_DIAG_ROW", "0\n1 0\n2 3 0\n4 5 6 0")) ==
               "line 11: 10 lengths" + matrix);
    BOOST_TEST(refusal(explicit_file("UPPER_ROW", "1 2 3\n4")) ==
               "line 8: \"4\" behind the last length of the matrix; mend DIMENSION or "
               "EDGE_WEIGHT_FORMAT");
}

BOOST_AUTO_TEST_CASE(matrices_that_do_not_fit_are_refused) {
    BOOST_TEST(refusal(explicit_file("UPPER_ROW", "1 2")) ==
               "line 8: the matrix has 2 lengths instead of 3; give all of them");
    BOOST_TEST(refusal(explicit_file("UPPER_ROW", "1 2 3 4")) ==
               "line 7: \"4\" behind the last length of the matrix; mend DIMENSION or "
               "EDGE_WEIGHT_FORMAT");
    BOOST_TEST(refusal(explicit_file("FULL_MATRIX", "0 1 2 4 0 3 5 6 0")) ==
               "line 8: the matrix is not symmetric, but TYPE is TSP; give TYPE: ATSP");
    BOOST_TEST(refusal(explicit_file("UPPER_ROW", "1 2 -3")) ==
               "line 7: the length \"-3\" is not a whole number from 0 to 2147483647; scale all of "
               "them");
    BOOST_TEST(refusal(explicit_file("SPARSE", "1 2 3"))
                   .starts_with("line 5: EDGE_WEIGHT_FORMAT \"SPARSE\" is not supported"));
    BOOST_TEST(refusal(replaced(explicit_file("FULL_MATRIX", "0"), ": 3", ": 16384")) ==
               "line 6: the file is too short for a matrix of 268435456 lengths; mend DIMENSION, "
               "or give all of them");
    BOOST_TEST(refusal(replaced(explicit_file("FULL_MATRIX", "0"), ": 3", ": 16385")) ==
               "line 6: a matrix of more than 16384 cities; give coordinates, or fewer cities");
}

BOOST_AUTO_TEST_CASE(csv_that_does_not_fit_is_refused) {
    BOOST_TEST(refusal("0,0\n0,300\n") == "line 2: a tour of 2 cities; give 3 or more");
    BOOST_TEST(refusal("0,5;1,5\n0;300\n400;300\n7;9\n")
                   .starts_with("line 1: \"0,5\" is not a number")); // nor a name
    BOOST_TEST(refusal("0,0\n0,300\n400\n") ==
               "line 3: a number is missing; fill it in, or leave the row out");
    BOOST_TEST(refusal("0,0\n0,300\n400,300,7\n") ==
               "line 3: more than two columns; give x and y alone");
    BOOST_TEST(refusal("0,0\n0,0.3\n0.4,0.3\n") ==
               "line 3: lengths are rounded to whole units, by which the ways to the nearest "
               "cities are off by 100% on average; scale the coordinates, as by 1000");
}

BOOST_AUTO_TEST_CASE(lengths_that_say_nothing_once_they_are_rounded_are_refused_in_every_form) {
    std::string square_csv, town = "EDGE_WEIGHT_TYPE: GEO\nNODE_COORD_SECTION\n";
    for (int i = 0; i < 25; ++i) {
        const std::string x = std::to_string(i % 5 * 0.2), y = std::to_string(i / 5 * 0.2);
        square_csv += x + "," + y + "\n";
        town += std::to_string(i) + " 48.1" + std::to_string(10 + i % 5) + " 11.3" +
                std::to_string(10 + i / 5) + "\n"; // streets of 185 m
    }
    town += "DIMENSION: 25\n";
    BOOST_TEST(refusal(square_csv + "1000,1000\n").find("are off by 96% on average") !=
               std::string::npos); // one lies far away
    BOOST_TEST(
        refusal(town).ends_with("off by 100% on average; give coordinates in metres, as EUC_2D"));
}

BOOST_AUTO_TEST_CASE(coordinates_on_a_globe_are_degrees_and_minutes) {
    const auto globe = [](const std::string& cities) {
        return "DIMENSION: 3\nEDGE_WEIGHT_TYPE: GEO\nNODE_COORD_SECTION\n" + cities;
    };
    BOOST_TEST(read_file(globe("1 48.59 11.0\n2 -90 -180\n3 0 360\n")).notes.empty());
    const auto notes = read_file(globe("1 48.75 11.6\n2 52.5 -13.61\n3 0 0\n")).notes;
    BOOST_REQUIRE(notes.size() == 1u);
    BOOST_TEST(
        notes.front() ==
        "3 of 6 coordinates have 60 minutes or more, as decimal degrees do; GEO is DDD.MM: of "
        "decimal degrees take the fraction 0.6 times");
    BOOST_TEST(
        refusal(globe("1 48.1 11.0\n2 11 48\n3 100.2 13\n")) ==
        "line 6: city 3 has a latitude beyond 90 or a longitude beyond 360; GEO is latitude, "
        "then longitude, in degrees and minutes");
    BOOST_TEST(refusal(globe("1 48.1 11.0\n2 11 -400\n3 2 3\n")).starts_with("line 6: city 2 has"));
}

BOOST_AUTO_TEST_CASE(names_that_pandas_counts_are_no_city) {
    const cities_file counted = read_file("0,1\n0.5,100.5\n300.5,7.5\n20.25,400.5\n");
    BOOST_TEST(counted.problem.cities() == 3u);
    BOOST_REQUIRE(counted.notes.size() == 1u);
    BOOST_TEST(counted.notes.front().starts_with(
        "the first line, 0, 1, is taken for the names of the columns, which pandas counts so where "
        "they have none; write it as decimals, such as 0.0, if it is a city"));
    const cities_file whole = read_file("0,1\n5,100\n300,7\n20,400\n");
    BOOST_TEST(whole.problem.cities() == 4u);
    BOOST_REQUIRE(whole.notes.size() == 1u);
    BOOST_TEST(whole.notes.front() ==
               "the first line, 0, 1, is taken for a row; leave it out if it has the names of the "
               "columns, or write it as decimals, such as 0.0, if it is a city");
    BOOST_TEST(refusal("0,1\n0.5,100.5\n300.5,7.5\n") ==
               "line 3: a tour of 2 cities; give 3 or more");
}

BOOST_AUTO_TEST_CASE(what_rounding_changes_in_lengths_is_noted) {
    const auto notes = [](const std::string& text) { return read_file(text).notes; };
    const std::string narrow = "0,0\n0,2.4\n2.4,2.4\n2.4,0\n";
    BOOST_REQUIRE(notes(narrow).size() == 1u);
    BOOST_TEST(notes(narrow).front() ==
               "lengths are rounded to whole units, by which the ways to the nearest cities are "
               "off by 17% on average; scale the coordinates, as by 1000");
    BOOST_TEST(notes("0,0\n0,24.4\n24.4,24.4\n24.4,0\n").empty());
    BOOST_TEST(notes("0,0\n1,1\n2,2\n3,3\n").empty()); // whole coordinates
}

BOOST_AUTO_TEST_CASE(cities_that_are_numbered_from_0_are_noted) {
    const std::string from_0 = "DIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n"
                               "2 0 300\n0 0 0\n1 400 0\n";
    const cities_file file = read_file(from_0);
    BOOST_REQUIRE(file.notes.size() == 1u);
    BOOST_TEST(file.notes.front() == "the cities of NODE_COORD_SECTION are numbered from 0; in "
                                     "tours they are numbered from 1");
    BOOST_TEST(file.problem.length(0, 1) == 400);
}

BOOST_AUTO_TEST_SUITE_END()
