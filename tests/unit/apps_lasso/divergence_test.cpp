// What the coupling is for: many correlated variables at a time diverge without it, and so does a check that does not cover
// what is in flight. Kept as a measurement of the methods, not of the program: the app file has neither.
#include <cmath>

#include <boost/test/unit_test.hpp>

#include "tests/unit/apps_lasso/lasso_runs.hpp"

using namespace troupe;
using namespace troupe::test;
using scheduled::coupling;

namespace {

constexpr double checked = 0.3, unchecked = HUGE_VAL; // rho

lasso_case case_of(coupling couple, double rho, std::uint32_t set, std::uint32_t window) {
    lasso_case c;
    c.share = 0.01;
    c.run.stop.gap = 1e-5;
    c.run.workers = 2;
    c.run.phases_max = 20000;
    c.run.schedule.couple = couple;
    c.run.schedule.rho = rho;
    c.run.schedule.set = set;
    c.run.schedule.window = window;
    return c;
}

lasso_case of_the_set_alone(std::uint32_t set, std::uint32_t window) {
    lasso_case c = case_of(coupling::check, checked, set, window);
    c.sees_flight = false;
    return c;
}

bool diverges(const lasso_case& c, const matrix_rows& rows) {
    const auto ran = run_lasso(c, rows);
    if (!ran) {
        BOOST_TEST_MESSAGE(ran.failure().message());
        BOOST_TEST((ran.failure().code() == errc::numeric));
        return true;
    }
    BOOST_TEST_MESSAGE("done " << ran->run.is_done << " phases " << ran->run.phases << ", probes "
                               << ran->run.standings.size() << ", gap "
                               << ran->run.standings.back().numbers[1].value);
    BOOST_TEST(ran->run.is_done);
    return false;
}

} // namespace

BOOST_AUTO_TEST_SUITE(lasso_divergence)

BOOST_AUTO_TEST_CASE(correlated_variables_diverge_unless_they_are_coupled_or_checked) {
    const matrix_rows rows = made_rows({.rows = 300, .columns = 200, .group = 40, .likeness = 0.8});
    BOOST_TEST(diverges(case_of(coupling::check, unchecked, 16, 0), rows));
    BOOST_TEST(!diverges(case_of(coupling::check, unchecked, 1, 0), rows));
    BOOST_TEST(!diverges(of_the_set_alone(16, 0), rows));
    BOOST_TEST(diverges(of_the_set_alone(16, 8), rows));
    BOOST_TEST(diverges(case_of(coupling::check, unchecked, 1, 8), rows));
    BOOST_TEST(!diverges(case_of(coupling::check, checked, 16, 8), rows));
    BOOST_TEST(!diverges(case_of(coupling::exact, checked, 16, 0), rows));
    BOOST_TEST(!diverges(case_of(coupling::exact, checked, 16, 8), rows));
    BOOST_TEST(!diverges(case_of(coupling::exact, checked, 0, 8), rows));
}

// Products of such columns differ in digits that float32 has not: they are of columns less their means.
BOOST_AUTO_TEST_CASE(takes_few_probes_without_an_intercept_for_columns_far_from_0) {
    for (const auto& [mean, gap] : {std::pair{1e4, 1e-8}, std::pair{1e5, 1e-6}}) {
        matrix_rows data = made_rows({.rows = 200, .columns = 8, .mean = mean});
        const double level = plain_descent({.share = 1}, data).intercept;
        for (double& target : data.targets)
            target -= level; // else the gap, which is relative to them, is small at once
        lasso_case c = precise_case();
        c.intercept = false;
        c.share = 0;
        c.lambda = 0.01;
        c.run.stop.gap = gap;
        c.run.phases_max = 1000;
        c.run.workers = 2;
        const auto ran = run_lasso(c, data);
        BOOST_REQUIRE(ran.ok());
        BOOST_TEST(ran->run.is_done);
        BOOST_TEST(ran->run.standings.size() <= 8u);
        BOOST_TEST(check_plainly(c, data, ran->solutions.front()).gap < 2 * gap);
    }
}

BOOST_AUTO_TEST_SUITE_END()
