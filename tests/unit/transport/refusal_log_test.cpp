// Lines that a node logs of connections that it refuses.
#include "transport/node/refusal_log.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace std::chrono_literals;

namespace {

constexpr time_point begin{};
const std::string key = "the keys differ";

} // namespace

BOOST_AUTO_TEST_SUITE(refusals)

BOOST_AUTO_TEST_CASE(the_first_is_told_at_once_and_a_crowd_by_its_number_after_a_minute) {
    refusal_log log;
    BOOST_TEST(!log.next_due().has_value());
    BOOST_TEST(log.refused("10.0.0.7", "", key, begin).value() ==
               "a connection from 10.0.0.7 is refused: the keys differ");
    for (int i = 1; i <= 12; ++i)
        BOOST_TEST(!log.refused("10.0.0.7", "", key, begin + i * 1s).has_value());
    BOOST_TEST((log.next_due() == begin + 60s));
    BOOST_TEST(log.due(begin + 59s).empty());
    BOOST_TEST(log.due(begin + 60s) ==
                   std::vector<std::string>{"12 more connections from 10.0.0.7 were refused in the "
                                            "last minute: the keys differ"},
               boost::test_tools::per_element());
    BOOST_TEST(!log.next_due().has_value());
    BOOST_TEST(log.refused("10.0.0.7", "run-x", key, begin + 61s).value() ==
               "who calls itself run-x at 10.0.0.7 is refused: the keys differ");
    BOOST_TEST(log.due(begin + 121s).empty()); // there were no more
}

BOOST_AUTO_TEST_CASE(another_address_and_another_reason_are_told_at_once) {
    refusal_log log;
    BOOST_TEST(log.refused("10.0.0.7", "", key, begin).has_value());
    BOOST_TEST(log.refused("10.0.0.8", "", key, begin).has_value());
    BOOST_TEST(
        log.refused("10.0.0.7", "", "the other side is not a Troupe node", begin).has_value());
    BOOST_TEST(!log.refused("10.0.0.8", "", key, begin).has_value());
    BOOST_TEST(log.due(begin + 60s) ==
                   std::vector<std::string>{"1 more connection from 10.0.0.8 was refused in the "
                                            "last minute: the keys differ"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(nobody_keeps_others_from_being_told_of_by_many_reasons) {
    refusal_log log;
    int told = 0;
    for (int i = 0; i < 1000; ++i)
        told += log.refused("10.0.0.7", "", "speaks version " + std::to_string(i), begin) ? 1 : 0;
    BOOST_TEST(told == refusal_log::reasons_max);
    BOOST_TEST(log.refused("10.0.0.8", "", key, begin).has_value());
}

BOOST_AUTO_TEST_CASE(a_crowd_of_many_addresses_is_counted_as_one) {
    refusal_log log;
    std::size_t told = 0;
    for (int i = 0; i < 1000; ++i)
        told += log.refused("2001:db8::" + std::to_string(i), "", key, begin).has_value() ? 1 : 0;
    BOOST_TEST(told == refusal_log::told_max);
    BOOST_TEST(log.due(begin + 60s) ==
                   std::vector<std::string>{"984 more connections from others were refused in the "
                                            "last minute, the last from 2001:db8::999: the keys "
                                            "differ"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
