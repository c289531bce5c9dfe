// The scheduler part of lasso beside what its peers and a saved state may say.
#include <boost/test/unit_test.hpp>

#include "apps/lasso/lasso_scheduler.hpp"
#include "tests/unit/apps_lasso/lasso_runs.hpp"

using namespace troupe;
using namespace troupe::lasso;

BOOST_AUTO_TEST_SUITE(lasso_scheduler_part)

BOOST_AUTO_TEST_CASE(a_phase_that_it_did_not_choose_is_refused) {
    memory_pool memory{1u << 20};
    scheduler_options options;
    options.memory = &memory;
    options.form.rows = 10;
    options.columns = 4;
    options.own = {0, 4};
    options.variables = {options.own};
    options.settings.size = 1;
    lasso_scheduler part{options};
    random_stream random{1};
    const auto probe = part.schedule(0, random);
    BOOST_REQUIRE((probe.ok() && probe->is_probe));
    const auto other = part.schedule(1, random);
    BOOST_REQUIRE(other.ok());
    const auto pulled = part.pull(*other, {}, {}); // before the probe
    BOOST_TEST((!pulled.ok() && pulled.failure().code() == errc::protocol));
    const auto concluded = part.conclude(0, {});
    BOOST_TEST((!concluded.ok() && concluded.failure().code() == errc::protocol));
    lasso_scheduler loaded{options};
    const auto none = loaded.pull(*other, {}, {}); // of a state without phases
    BOOST_TEST((!none.ok() && none.failure().code() == errc::protocol));
}

BOOST_AUTO_TEST_CASE(a_gap_of_0_is_no_bound) {
    // The only column is the targets: whatever lambda, the gap is 0 as soon as its coefficient is right.
    test::matrix_rows rows;
    rows.columns = 1;
    rows.values = {1, 0, 0, 0};
    rows.targets = {1, 0, 0, 0};
    test::lasso_case c;
    c.lambda = 1e3; // larger than the largest one that is worth anything
    c.intercept = false;
    c.run.stop.gap = 0;
    c.run.phases_max = 50;
    const auto ran = test::run_lasso(c, rows);
    BOOST_REQUIRE(ran.ok());
    BOOST_TEST(!ran->run.is_done);
    BOOST_TEST(ran->run.phases == 50u);
    c.run.stop.gap = 1e-9;
    const auto bounded = test::run_lasso(c, rows);
    BOOST_REQUIRE(bounded.ok());
    BOOST_TEST(bounded->run.is_done);
}

BOOST_AUTO_TEST_SUITE_END()
