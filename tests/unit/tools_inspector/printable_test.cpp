#include <boost/test/unit_test.hpp>

#include <sstream>

#include "tools/inspector/printable.hpp"
#include "tools/inspector/terminal.hpp"

using namespace troupe::inspector;

BOOST_AUTO_TEST_SUITE(inspector_printable)

BOOST_AUTO_TEST_CASE(a_name_is_cut_where_a_line_would_grow_long) {
    BOOST_TEST(printable("stage-0") == "stage-0");
    BOOST_TEST(printable(std::string(65, 'a')) == std::string(64, 'a') + "...");
}

BOOST_AUTO_TEST_CASE(durations_have_three_digits_and_a_unit) {
    BOOST_TEST(duration_text(0) == "0 ns");
    BOOST_TEST(duration_text(999) == "999 ns");
    BOOST_TEST(duration_text(1000) == "1.00 us");
    BOOST_TEST(duration_text(12'345) == "12.3 us");
    BOOST_TEST(duration_text(999'999) == "1.00 ms");
    BOOST_TEST(duration_text(123'456'789) == "123 ms");
    BOOST_TEST(duration_text(5'000'000'000) == "5.00 s");
    BOOST_TEST(duration_text(400'000'000'000) == "400 s");
    BOOST_TEST(duration_text(-12'345) == "-12.3 us");
}

BOOST_AUTO_TEST_CASE(sizes_rates_and_shares_are_short) {
    BOOST_TEST(bytes_text(401'408) == "401 kB");
    BOOST_TEST(bytes_text(12) == "12 B");
    BOOST_TEST(rate_text(0) == "0/s");
    BOOST_TEST(rate_text(2.25) == "2.2/s");
    BOOST_TEST(rate_text(12'300) == "12300/s");
    BOOST_TEST(percent_text(0.123) == "12 %");
    BOOST_TEST(percent_text(7) == "100 %");
}

BOOST_AUTO_TEST_CASE(columns_of_a_table_are_as_wide_as_their_widest_cell) {
    table rows{
        {{"node", table::align::left}, {"n", table::align::right}, {"", table::align::left}}};
    rows.add({"a", "12345", ""});
    rows.add({"Bühne", "7", "paused"});
    std::ostringstream out;
    rows.print(out);
    BOOST_TEST(out.str() == "node       n\na      12345\nBühne      7  paused\n");
}

BOOST_AUTO_TEST_CASE(a_screen_takes_whole_characters_and_no_last_end_of_line) {
    BOOST_TEST(cut_to({.rows = 2, .columns = 3}, "abcdef\nghi\njkl\n") == "abc\nghi");
    BOOST_TEST(cut_to({.rows = 3, .columns = 2}, "a\u00e4b\n\nc\n") == "a\u00e4\n\nc");
    BOOST_TEST(cut_to({.rows = 1, .columns = 80}, "") == "");
}

BOOST_AUTO_TEST_SUITE_END()
