// What results are written with.
#include "actors/scheduled/written_files.hpp"

#include <fstream>

#include "actors/data/files/npy_elements.hpp"
#include "tests/support/data_files.hpp"

using namespace troupe;
using namespace troupe::scheduled;

BOOST_FIXTURE_TEST_SUITE(written_files, test::data_files)

BOOST_AUTO_TEST_CASE(arrays_are_read_back) {
    const std::vector<double> numbers{1, -2.5, 3, 4, 5, 6};
    for (const std::vector<std::uint64_t>& shape :
         std::vector<std::vector<std::uint64_t>>{{6}, {2, 3}}) {
        std::vector<double> read(shape[0] * (shape.size() > 1 ? shape[1] : 1));
        const std::string path = plain("a.npy", "what was there before");
        BOOST_REQUIRE(write_file(path, [&](std::ofstream& f) {
                          f << npy_header_of("<f8", shape);
                          write_bytes(f, bytes_of(std::span{numbers}.first(read.size())));
                      }).ok());
        auto elements = npy_elements::open(path);
        BOOST_REQUIRE(elements.ok());
        BOOST_TEST(
            (elements->header().shape == std::vector<std::size_t>(shape.begin(), shape.end())));
        BOOST_TEST(elements->read(read).ok());
        BOOST_TEST(elements->expect_end().ok());
        BOOST_TEST(std::equal(read.begin(), read.end(), numbers.begin()));
        BOOST_TEST(npy_header_of("<f8", shape).size() % 64 == 0u);
    }
    BOOST_TEST(npy_header_of("<i4", std::vector<std::uint64_t>{5}).find("(5,)") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(fields_have_quotes_where_they_must) {
    BOOST_TEST(field_of("plain text") == "plain text");
    BOOST_TEST(field_of("a,b") == "\"a,b\"");
    BOOST_TEST(field_of("say \"a\"") == "\"say \"\"a\"\"\"");
    BOOST_TEST(field_of("two\nlines") == "\"two\nlines\"");
    const std::vector<std::string> names{"a", "b,c"};
    BOOST_TEST(name_or_number(names, 1) == "\"b,c\"");
    BOOST_TEST(name_or_number(names, 2) == "2");
}

BOOST_AUTO_TEST_CASE(numbers_are_the_shortest_that_read_the_same) {
    BOOST_TEST(text_of(0.1) == "0.1");
    BOOST_TEST(text_of(0.1F) == "0.1");
    BOOST_TEST(text_of(double{0.1F}) == "0.10000000149011612");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_written_is_an_error_with_its_file) {
    const auto done = write_file("/nowhere/file", [](std::ofstream& f) { f << 'x'; });
    BOOST_TEST(test::refusal_of(done, errc::io).starts_with("/nowhere/file: cannot be written: "));
}

BOOST_AUTO_TEST_SUITE_END()
