#include <boost/test/unit_test.hpp>

#include "actors/scheduled/run_bounds.hpp"

using namespace troupe;
using namespace troupe::scheduled;

namespace {

std::vector<named_number> numbers(double gap, double objective = 1, double lambda = 0.1) {
    return {{"objective", objective}, {"gap", gap}, {"lambda", lambda}, {"phases", gap * 1e6}};
}

// The sweep, from 1, in which it is said that the gap stands still; 0: it is not.
template <class Numbers>
int sweep_said(Numbers of, double wanted = 1e-9, int sweeps = 100) {
    standstill still;
    int said = 0;
    for (int sweep = 1; sweep <= sweeps; ++sweep)
        if (still.is_reached(of(sweep), wanted)) {
            BOOST_TEST(said == 0);
            said = sweep;
        }
    return said;
}

} // namespace

BOOST_AUTO_TEST_SUITE(bounds_of_runs)

BOOST_AUTO_TEST_CASE(the_bound_that_ended_a_run_is_named) {
    const stop_settings stop{.gap = 1e-6, .sweeps = 10, .phases = 100, .seconds = 5};
    BOOST_TEST(end_holds(true, 0, stop));
    BOOST_TEST(end_holds(false, 10, stop));
    BOOST_TEST(!end_holds(false, 9, stop));
    BOOST_TEST(!end_holds(false, 10, {.phases = 1}));
    BOOST_TEST(bound_reached(stop, {true, false, 10, 100}) == "gap");
    BOOST_TEST(bound_reached(stop, {false, true, 10, 100}) == "sweeps");
    BOOST_TEST(bound_reached(stop, {false, true, 9, 100}) == "phases");
    BOOST_TEST(bound_reached(stop, {false, true, 9, 99}) == "seconds");
    BOOST_TEST(bound_reached(stop, {false, false, 9, 99}) == "");
    BOOST_TEST(bound_reached({}, {false, false, 9, 99}) == "");
    const stop_settings tour{.gap = 1e-6, .length = 7542, .iterations = 100};
    BOOST_TEST(bound_reached(tour, {true, false, 1, 9, {{"length", 7542}}}) == "length");
    BOOST_TEST(bound_reached(tour, {true, false, 1, 9, {{"length", 7543}}}) == "iterations");
}

BOOST_AUTO_TEST_CASE(a_gap_that_no_longer_falls_is_said_once) {
    const auto still = [](int sweep) { return numbers(sweep < 5 ? 1.0 / sweep : 3e-8); };
    BOOST_TEST(sweep_said(still) == 5 + static_cast<int>(standstill::sweeps_max));
    const auto noise = [](int sweep) {
        return numbers(3e-8 * (1 + 0.5 * (sweep % 3)), 1 + 1e-9 * sweep);
    };
    BOOST_TEST(sweep_said(noise) > 0);
    BOOST_TEST(sweep_said(still, 1e-7) == 0); // near enough
    BOOST_TEST(sweep_said(still, 0) == 0);    // nothing is asked for
}

BOOST_AUTO_TEST_CASE(a_run_that_gets_on_does_not_stand_still) {
    BOOST_TEST(sweep_said([](int sweep) { return numbers(1.0 / sweep); }, 1e-9, 60) == 0);
    // Each value of a path begins with the coefficients of the one before.
    BOOST_TEST(sweep_said([](int sweep) { return numbers(1e-5, 1, 1.0 / (1 + sweep / 10)); }) == 0);
    BOOST_TEST(sweep_said([](int sweep) { return numbers(1e-5, 1.0 / sweep); }) == 0);
    BOOST_TEST(sweep_said([](int) {
                   return std::vector<named_number>{{"likelihood", -1}, {"phases", 1}};
               }) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
