#include <boost/test/unit_test.hpp>

#include <sstream>

#include "tools/inspector/printable.hpp"

using namespace troupe::inspector;

BOOST_AUTO_TEST_SUITE(inspector_printable)

BOOST_AUTO_TEST_CASE(ordinary_text_stays_as_it_is) {
    BOOST_TEST(printable("stage 0") == "stage 0");
    BOOST_TEST(printable("Bühne \u4e16") == "Bühne \u4e16");
    BOOST_TEST(printable("") == "");
}

BOOST_AUTO_TEST_CASE(what_a_terminal_would_obey_is_shown_instead) {
    BOOST_TEST(printable("a\x1b[2Jb") == "a\\x1b[2Jb");
    BOOST_TEST(printable("a\nb\r\t\x7f") == "a\\x0ab\\x0d\\x09\\x7f");
    BOOST_TEST(printable(std::string_view{"a\0b", 3}) == "a\\x00b");
    BOOST_TEST(printable("\xc2\x9b"
                         "31m") == "\\u{9b}31m");           // CSI as one C1 control
    BOOST_TEST(printable("\u202eevil") == "\\u{202e}evil"); // right to left
    BOOST_TEST(printable("\u2066x\u200b") == "\\u{2066}x\\u{200b}");
}

BOOST_AUTO_TEST_CASE(bytes_that_are_not_utf8_are_shown_as_bytes) {
    BOOST_TEST(printable("\xff\xfe") == "\\xff\\xfe");
    BOOST_TEST(printable("\xc3") == "\\xc3");                   // cut short
    BOOST_TEST(printable("\xc0\xaf") == "\\xc0\\xaf");          // overlong
    BOOST_TEST(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80"); // surrogate
    BOOST_TEST(printable("\xf5\x80\x80\x80") == "\\xf5\\x80\\x80\\x80");
}

BOOST_AUTO_TEST_CASE(long_text_is_cut_between_characters_and_says_so) {
    BOOST_TEST(printable("abcdef", 4) == "abcd...");
    BOOST_TEST(printable("abcd", 4) == "abcd");
    BOOST_TEST(printable("abc\u4e16", 4) == "abc...");
    BOOST_TEST(printable("abc\x1b", 4) == "abc...");
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

BOOST_AUTO_TEST_SUITE_END()
