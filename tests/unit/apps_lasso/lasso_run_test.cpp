// Whole runs of lasso, on several workers and schedulers and with several windows, beside plain coordinate descent.
#include <boost/test/unit_test.hpp>

#include "tests/unit/apps_lasso/lasso_runs.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

matrix_rows dense_data() {
    return made_rows({.rows = 200, .columns = 50, .group = 5, .likeness = 0.9});
}
matrix_rows sparse_data() {
    return made_rows({.rows = 500, .columns = 1000, .share = 0.05, .group = 10, .likeness = 0.95});
}

void check_beside_plain(const lasso_case& c, const matrix_rows& rows) {
    const auto ran = run_lasso(c, rows);
    BOOST_REQUIRE_MESSAGE(ran.ok(), (ran.ok() ? "" : ran.failure().message()));
    BOOST_TEST(ran->run.is_done);
    BOOST_REQUIRE(ran->solutions.size() == 1u);
    const lasso::solution& s = ran->solutions.front();
    const plain_solution plain = plain_descent(c, rows);
    const plain_check check = check_plainly(c, rows, s);
    BOOST_TEST_MESSAGE("phases " << ran->run.phases << ", probes " << ran->run.standings.size()
                                 << ", in use " << s.columns.size());
    BOOST_TEST(std::abs(s.numbers.lambda / plain.lambda - 1) < 1e-12);
    BOOST_TEST(std::abs(check.objective / plain.objective - 1) < 1e-13);
    BOOST_TEST(std::abs(s.numbers.objective / plain.objective - 1) < 1e-12);
    BOOST_TEST(check.violation < 1e-6);
    BOOST_TEST(std::abs(s.numbers.intercept - plain.intercept) < 1e-6);
}

} // namespace

BOOST_AUTO_TEST_SUITE(lasso_run)

BOOST_AUTO_TEST_CASE(finds_the_optimum_on_any_number_of_workers_and_schedulers_with_any_window) {
    const matrix_rows dense = dense_data(), sparse = sparse_data();
    for (const matrix_rows* rows : {&dense, &sparse})
        for (const std::uint32_t workers : {1u, 2u, 4u})
            for (const std::uint32_t schedulers : {1u, 3u})
                for (const std::uint32_t window : {0u, 2u, 8u}) {
                    BOOST_TEST_CONTEXT((rows == &dense ? "dense" : "sparse")
                                       << ", workers " << workers << ", schedulers " << schedulers
                                       << ", window " << window) {
                        lasso_case c = precise_case();
                        c.run.workers = workers;
                        c.run.schedulers = schedulers;
                        c.run.schedule.window = window;
                        check_beside_plain(c, *rows);
                    }
                }
}

BOOST_AUTO_TEST_SUITE_END()
