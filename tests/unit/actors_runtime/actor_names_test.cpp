#include <boost/test/unit_test.hpp>

#include "actors/runtime/actor_names.hpp"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(actor_names)

BOOST_AUTO_TEST_CASE(an_actor_of_a_run_is_called_by_its_run_and_role_or_by_its_role) {
    const std::string name = name_in_run(0x5c6879d3, "stage-0");
    BOOST_TEST(name == "5c6879d3/stage-0");
    BOOST_TEST(role_part(name) == "stage-0");
    BOOST_TEST(is_called(name, "5c6879d3/stage-0"));
    BOOST_TEST(is_called(name, "stage-0"));
    BOOST_TEST(!is_called(name, "00000007/stage-0"));
    BOOST_TEST(!is_called(name, "stage-1"));
    BOOST_TEST(is_called("agent", "agent"));
    BOOST_TEST(role_part("agent") == "agent");
}

BOOST_AUTO_TEST_CASE(two_runs_have_no_names_in_common) {
    BOOST_TEST(name_in_run(1, "trainer") != name_in_run(2, "trainer"));
    BOOST_TEST(name_in_run(7, "trainer") == "00000007/trainer");
    BOOST_TEST(name_in_run(0x123456789a, "trainer") == "123456789a/trainer");
}

BOOST_AUTO_TEST_CASE(a_run_is_read_as_it_is_written) {
    for (const std::uint64_t run :
         {std::uint64_t{1}, std::uint64_t{0x5c6879d3}, std::uint64_t{0xfedcba9876543210}}) {
        BOOST_TEST(read_run(run_text(run)).value() == run);
        BOOST_TEST(read_run("0x" + run_text(run)).value() == run);
    }
    for (const char* text :
         {"", "0x", "7", "00000000", "5c6879dg", "5c6879d3 ", "-c6879d3", "10000000000000000"})
        BOOST_TEST(!read_run(text).has_value(), text);
}

BOOST_AUTO_TEST_SUITE_END()
