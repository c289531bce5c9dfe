// Numbers in text: read as the standard library reads them, to the last bit.
#include <boost/test/unit_test.hpp>

#include <bit>
#include <cmath>
#include <cstdlib>

#include "actors/data/files/text_number.hpp"
#include "schemas/base/random.hpp"

using namespace troupe;

namespace {

bool are_same(double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

} // namespace

BOOST_AUTO_TEST_SUITE(numbers_in_text)

BOOST_AUTO_TEST_CASE(short_decimals_are_those_of_the_standard_library) {
    random_stream random{5};
    for (int k = 0; k < 20000; ++k) {
        std::string text = k % 3 == 0 ? "-" : "";
        const auto digits = 1 + static_cast<std::size_t>(k % 20);
        const std::size_t point = random.below(digits + 2); // behind all digits, or nowhere
        for (std::size_t d = 0; d < digits; ++d) {
            text += d == point ? "." : "";
            text += static_cast<char>('0' + random.below(10));
        }
        text += point == digits ? "." : "";
        const auto number = text_number(text), in_range = text_in_float_range(text);
        BOOST_REQUIRE_MESSAGE(number && in_range, text);
        BOOST_TEST_REQUIRE(are_same(*number, std::strtod(text.c_str(), nullptr)), text);
        BOOST_TEST_REQUIRE(are_same(*in_range, *number), text);
    }
}

BOOST_AUTO_TEST_CASE(forms_at_the_edge_of_short_decimals_are_taken_or_refused_as_others) {
    for (const char* text : {"", "-", ".", "-.", "1..2", "1.2.3", "1-", "--1", "+-1", "1 2", "1,2",
                             "0x10", "1e", "e5", "nan", "inf"})
        BOOST_TEST(!text_number(text), text);
    for (const char* text : {"0", "-0", "0.0", "-0.000", ".5", "5.", "1e-3", "000000000000000007",
                             "999999999999999", "9007199254740993", "0.000000000000001"})
        BOOST_TEST((text_number(text) && are_same(*text_number(text), std::strtod(text, nullptr))),
                   text);
    BOOST_TEST((text_number("+1.5") == 1.5));
}

BOOST_AUTO_TEST_CASE(blanks_and_tabs_around_words_are_none_of_them) {
    BOOST_TEST(trimmed(" \t a b \t") == "a b");
    BOOST_TEST(trimmed(" \t").empty());
    std::string_view text = "\t one\ttwo  three ";
    BOOST_TEST(take_word(text) == "one");
    BOOST_TEST(take_word(text) == "two");
    BOOST_TEST(text == "three");
    BOOST_TEST(take_word(text) == "three");
    BOOST_TEST(take_word(text).empty());
}

BOOST_AUTO_TEST_SUITE_END()
