// Checks of a program's app file before a run.
#include <boost/test/unit_test.hpp>

#include "tests/unit/actors_app_file/garden.capnp.h"
#include "tools/troupe/program_check.hpp"

using namespace troupe;
using namespace troupe::cli;
using namespace troupe::scheduled;

namespace {

program_app app_with(const std::string& rest) {
    static const app_kind kind = program_app_kind(
        {{"rose", capnp::Schema::from<proto::Rose>(), "A program that stands for any."}});
    return parse_program_app(
               "troupe: 1\ndata: {matrix: {features: x.npy, targets: y.npy}}\nprogram: rose\n" +
                   rest,
               "app.yaml", {}, kind)
        .value();
}

program rose() {
    program what;
    what.name = "rose";
    return what;
}

std::string why_not(const std::string& rest, const program& what) {
    const auto checked = check_program(app_with(rest), what);
    if (!checked)
        BOOST_TEST((checked.failure().code() == errc::usage));
    return checked ? "" : checked.failure().message();
}

} // namespace

BOOST_AUTO_TEST_SUITE(program_checks)

BOOST_AUTO_TEST_CASE(a_schedule_that_the_program_does_not_take_names_those_that_it_takes) {
    program what = rose();
    BOOST_TEST(why_not("schedule: {dynamic: {}}\n", what) == "");
    BOOST_TEST(why_not("schedule: {cyclic: {}}\n", what) == "");
    BOOST_TEST(why_not("schedule: {rotation: {}}\n", what) ==
               "app.yaml:4:11: schedule: is rotation, which the program rose does not take; write "
               "schedule: {dynamic: {}} or schedule: {cyclic: {}}");
    what.schedules = {schedule_kind::rotation};
    BOOST_TEST(why_not("schedule: {rotation: {}}\n", what) == "");
    BOOST_TEST(why_not("schedule: {cyclic: {}}\n", what).find("write schedule: {rotation: {}}") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_bound_that_the_program_does_not_know_is_refused_at_its_place) {
    program what = rose();
    BOOST_TEST(why_not("stop: {seconds: 5}\n", what) == "");
    for (const std::string key : {"length", "iterations"})
        BOOST_TEST(why_not("stop: {" + key + ": 5}\n", what) ==
                   "app.yaml:4:" + std::to_string(10 + key.size()) + ": stop." + key +
                       ": is no bound of the program rose, which has none of its own by this "
                       "name; leave it out");
    what.bounds = {stop_bound::iterations};
    BOOST_TEST(why_not("stop: {iterations: 5}\n", what) == "");
    BOOST_TEST(why_not("stop: {length: 5}\n", what) != "");
}

BOOST_AUTO_TEST_CASE(rho_is_doubted_where_the_coupling_does_not_use_it) {
    const auto doubted = [](const std::string& schedule) {
        const auto doubts = doubts_about(app_with("schedule: " + schedule + "\n"), rose(), {});
        return doubts->keys.size();
    };
    BOOST_TEST(doubted("{dynamic: {couple: exact}}") == 1u);
    BOOST_TEST(doubted("{dynamic: {couple: check}}") == 0u);
    BOOST_TEST(doubted("{cyclic: {}}") == 0u);
}

BOOST_AUTO_TEST_CASE(what_a_program_throws_becomes_a_sentence_that_names_it) {
    program what = rose();
    what.check = [](const program_site&) -> result<void> { throw std::runtime_error{"thorns"}; };
    const auto checked = check_settings(app_with(""), what, {});
    BOOST_TEST_REQUIRE(!checked.ok());
    for (const char* part : {"rose", "check", "thorns"})
        BOOST_TEST(checked.failure().message().find(part) != std::string::npos,
                   checked.failure().message());
}

BOOST_AUTO_TEST_SUITE_END()
