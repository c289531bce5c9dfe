// Runs of lasso that go on with another window and other numbers of schedulers and workers.
#include <boost/test/unit_test.hpp>

#include "tests/unit/apps_lasso/lasso_runs.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct shape {
    std::uint32_t workers, schedulers, window;
};
constexpr shape shapes[] = {{2, 1, 2}, {2, 3, 0}, {1, 2, 8}, {4, 1, 0}, {3, 3, 5}};

lasso_case with(lasso_case c, const shape& s) {
    c.run.workers = s.workers;
    c.run.schedulers = s.schedulers;
    c.run.schedule.window = s.window;
    return c;
}

lasso_result carried(const lasso_case& before, const lasso_case& now, const matrix_rows& rows) {
    auto ran = run_lasso(before, now, rows);
    if (!ran)
        BOOST_FAIL("a run failed: " << ran.failure().message());
    BOOST_TEST(ran->run.is_done);
    return std::move(*ran);
}

// From each shape to the next one, after some phases.
void check_all(const lasso_case& c, const matrix_rows& rows, double tolerance) {
    const auto whole = run_lasso(with(c, shapes[0]), rows);
    BOOST_REQUIRE(whole.ok());
    for (std::size_t i = 0; i < std::size(shapes); ++i)
        for (const std::uint64_t at : {1u, 2u, 6u, 15u}) {
            BOOST_TEST_CONTEXT("shape " << i << ", phase " << at) {
                lasso_case before = with(c, shapes[i]);
                const lasso_case now = with(c, shapes[(i + 1) % std::size(shapes)]);
                before.run.phases_max = at;
                const auto first = carried(before, now, rows), again = carried(before, now, rows);
                BOOST_TEST(first.run.changes == again.run.changes,
                           boost::test_tools::per_element());
                BOOST_REQUIRE(first.solutions.size() == whole->solutions.size());
                for (std::size_t s = 0; s < first.solutions.size(); ++s) {
                    const auto& found = first.solutions[s];
                    const auto& wanted = whole->solutions[s];
                    BOOST_TEST(std::abs(found.numbers.lambda / wanted.numbers.lambda - 1) < 1e-12);
                    BOOST_TEST(std::abs(found.numbers.objective / wanted.numbers.objective - 1) <
                               tolerance);
                    BOOST_TEST(found.numbers.gap <= c.run.stop.gap);
                    if (!c.is_logistic)
                        BOOST_TEST(check_plainly(c, rows, found).violation < 1e-5);
                    BOOST_TEST(std::abs(found.numbers.intercept - wanted.numbers.intercept) < 1e-5);
                }
            }
        }
}

} // namespace

BOOST_AUTO_TEST_SUITE(lasso_carried_over)

BOOST_AUTO_TEST_CASE(comes_to_the_same_optimum) {
    for (const std::uint32_t set : {0u, 5u}) {
        lasso_case c = precise_case();
        c.run.stop.gap = 1e-12;
        c.run.schedule.set = set;
        check_all(c, made_rows({.rows = 200, .columns = 50, .group = 5, .likeness = 0.9}), 1e-11);
        check_all(
            c,
            made_rows({.rows = 300, .columns = 400, .share = 0.05, .group = 10, .likeness = 0.95}),
            1e-11);
    }
}

BOOST_AUTO_TEST_CASE(goes_on_at_its_place_of_a_path) {
    lasso_case c;
    c.count = 8;
    c.path_ratio = 0.05;
    c.run.stop.gap = 1e-11;
    check_all(c, made_rows({.rows = 200, .columns = 50, .group = 5, .likeness = 0.9}), 1e-9);
}

BOOST_AUTO_TEST_CASE(comes_to_the_same_optimum_in_turn) {
    lasso_case c = precise_case();
    c.run.stop.gap = 1e-11;
    c.run.schedule.kind = scheduled::schedule_kind::cyclic;
    c.run.schedule.set = 7;
    check_all(c, made_rows({.rows = 200, .columns = 50, .group = 5, .likeness = 0.5}), 1e-10);
}

BOOST_AUTO_TEST_CASE(comes_to_the_same_optimum_of_the_logistic_loss) {
    matrix_rows rows = made_rows({.rows = 200, .columns = 50, .group = 5, .likeness = 0.9});
    for (double& target : rows.targets)
        target = target > 0.1 ? 1 : 0;
    lasso_case c;
    c.is_logistic = true;
    c.share = 0.1;
    c.run.stop.gap = 1e-10;
    c.run.phases_max = 20000;
    check_all(c, rows, 1e-9);
}

// Its changes in flight reach the rows of the new workers, whichever they are.
BOOST_AUTO_TEST_CASE(a_run_that_is_done_goes_on_to_a_smaller_gap) {
    const matrix_rows rows = made_rows({.rows = 200, .columns = 50, .group = 5, .likeness = 0.9});
    lasso_case before = with(precise_case(), {2, 2, 4});
    before.run.stop.gap = 1e-3;
    lasso_case now = precise_case();
    now.run.workers = 3;
    const auto ran = carried(before, now, rows);
    BOOST_TEST(ran.solutions.back().numbers.gap <= 1e-13);
    BOOST_TEST(check_plainly(now, rows, ran.solutions.back()).violation < 1e-6);
}

BOOST_AUTO_TEST_SUITE_END()
