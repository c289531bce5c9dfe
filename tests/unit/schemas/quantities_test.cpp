// Numbers in sentences.
#include <boost/test/unit_test.hpp>

#include "schemas/base/quantities.hpp"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(quantities)

BOOST_AUTO_TEST_CASE(bytes_have_a_decimal_prefix_from_ten_thousand_on) {
    BOOST_TEST(bytes_text(0) == "0 B");
    BOOST_TEST(bytes_text(9999) == "9999 B");
    BOOST_TEST(bytes_text(10000) == "10.0 kB");
    BOOST_TEST(bytes_text(300u << 20) == "314.6 MB");
    BOOST_TEST(bytes_text(~0ull) == "18.4 EB");
    BOOST_TEST(quantity(4.56e10, "FLOP") == "45.6 GFLOP");
}

BOOST_AUTO_TEST_CASE(two_digits_are_those_that_count) {
    BOOST_TEST(two_digits(0.0123) == "0.012");
    BOOST_TEST(two_digits(0.0000034) == "3.4e-06");
    BOOST_TEST(two_digits(7) == "7");
}

BOOST_AUTO_TEST_CASE(one_is_no_plural) {
    BOOST_TEST(counted(1, "stage") == "1 stage");
    BOOST_TEST(counted(0, "stage") == "0 stages");
    BOOST_TEST(counted(1, "pass", "passes") == "1 pass");
    BOOST_TEST(counted(2, "pass", "passes") == "2 passes");
}

BOOST_AUTO_TEST_SUITE_END()
