#include <boost/test/unit_test.hpp>

#include "schemas/base/printable.hpp"

using namespace troupe;

namespace {

std::string shown(std::string_view text) {
    return printable(text, 64);
}

} // namespace

BOOST_AUTO_TEST_SUITE(text_from_outside)

BOOST_AUTO_TEST_CASE(ordinary_text_stays_as_it_is) {
    BOOST_TEST(shown("stage 0") == "stage 0");
    BOOST_TEST(shown("Bühne \u4e16") == "Bühne \u4e16");
    BOOST_TEST(shown("") == "");
}

BOOST_AUTO_TEST_CASE(what_a_terminal_would_obey_is_shown_instead) {
    BOOST_TEST(shown("a\x1b[2Jb") == "a\\x1b[2Jb");
    BOOST_TEST(shown("a\nb\r\t\x7f") == "a\\x0ab\\x0d\\x09\\x7f");
    BOOST_TEST(shown(std::string_view{"a\0b", 3}) == "a\\x00b");
    BOOST_TEST(shown("\xc2\x9b"
                     "31m") == "\\u{9b}31m");           // CSI as one C1 control
    BOOST_TEST(shown("\u202eevil") == "\\u{202e}evil"); // right to left
    BOOST_TEST(shown("\u2066x\u200b") == "\\u{2066}x\\u{200b}");
}

BOOST_AUTO_TEST_CASE(bytes_that_are_not_utf8_are_shown_as_bytes) {
    BOOST_TEST(shown("\xff\xfe") == "\\xff\\xfe");
    BOOST_TEST(shown("\xc3") == "\\xc3");                   // cut short
    BOOST_TEST(shown("\xc0\xaf") == "\\xc0\\xaf");          // overlong
    BOOST_TEST(shown("\xed\xa0\x80") == "\\xed\\xa0\\x80"); // surrogate
    BOOST_TEST(shown("\xf5\x80\x80\x80") == "\\xf5\\x80\\x80\\x80");
}

BOOST_AUTO_TEST_CASE(long_text_is_cut_between_characters_and_says_so) {
    BOOST_TEST(printable("abcdef", 4) == "abcd...");
    BOOST_TEST(printable("abcd", 4) == "abcd");
    BOOST_TEST(printable("abc\u4e16", 4) == "abc...");
    BOOST_TEST(printable("abc\x1b", 4) == "abc...");
}

BOOST_AUTO_TEST_CASE(text_of_any_length_ends_at_the_bound) {
    BOOST_TEST(printable(std::string(10'000'000, '\x1b'), 100).size() <= 103u);
    const std::string cut = printable(std::string(200, 'a'), 100);
    BOOST_TEST(printable(cut, 100) == cut); // as it goes from node to node
}

BOOST_AUTO_TEST_CASE(a_name_is_text_that_can_be_printed_as_it_is) {
    const auto is_name = [](std::string_view text) { return is_printable_name(text, 8); };
    BOOST_TEST(is_name("stage 0"));
    BOOST_TEST(is_name("Bühne"));
    BOOST_TEST(is_name("\u4e16\u754c"));
    BOOST_TEST(is_name("12345678"));
    BOOST_TEST(!is_name("123456789"));
    BOOST_TEST(!is_name(""));
    for (int c = 0; c < 0x20; ++c)
        BOOST_TEST(!is_name(std::string{"a"} + static_cast<char>(c)));
    BOOST_TEST(!is_name("a\x7f"));
    BOOST_TEST(!is_name("\u009b1m")); // CSI as one C1 control
    BOOST_TEST(!is_name("\u202e1m"));
    BOOST_TEST(!is_name("\x9b"));
    BOOST_TEST(!is_name("\xc3"));
}

BOOST_AUTO_TEST_SUITE_END()
