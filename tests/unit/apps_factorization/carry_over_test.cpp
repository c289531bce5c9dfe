// Factorization by coordinates that goes on with another window and another number of schedulers.
#include <boost/test/unit_test.hpp>

#include <capnp/message.h>

#include "apps/factorization/factorization.capnp.h"
#include "apps/factorization/factorization.hpp"
#include "tests/unit/apps_factorization/factorization_runs.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr std::uint32_t rank = 3;

struct shape {
    std::uint32_t schedulers, window, set;
};
constexpr shape shapes[] = {{1, 2, 0}, {3, 0, 0}, {2, 5, 11}, {1, 0, 7}};

driven_run run_of(const shape& s, capnp::MallocMessageBuilder& settings) {
    auto to = settings.initRoot<proto::FactorizationSettings>();
    to.setRank(rank);
    to.setBy(proto::FactorizationMethod::COORDINATES);
    to.setPenalty(0.05);
    driven_run run;
    run.program = factorization::factorization_program();
    run.settings = settings.getRoot<capnp::AnyPointer>().asReader();
    run.schedule.kind = scheduled::schedule_kind::cyclic;
    run.schedule.window = s.window;
    run.schedule.set = s.set;
    run.schedulers = s.schedulers;
    run.workers = 2;
    run.stop.gap = 1e-7;
    return run;
}

double objective_of(const scheduled::standing& s) {
    BOOST_REQUIRE(s.numbers.back().name == "objective");
    return s.numbers.back().value;
}

driven_result well(program_driver& driver) {
    auto ran = driver.run();
    if (!ran)
        BOOST_FAIL("a run failed: " << ran.failure().message());
    return std::move(*ran);
}

} // namespace

BOOST_AUTO_TEST_SUITE(factorization_carried_over)

BOOST_AUTO_TEST_CASE(never_raises_the_objective_and_ends_near_the_same) {
    const ratings data = make_ratings({.users = 80, .items = 60});
    capnp::MallocMessageBuilder settings;
    program_driver whole_driver{run_of(shapes[0], settings), data.learned};
    const double whole = objective_of(well(whole_driver).standings.back());
    for (std::size_t i = 0; i < std::size(shapes); ++i)
        for (const std::uint64_t at : {0u, 1u, 3u, 30u, 101u, 150u}) {
            BOOST_TEST_CONTEXT("shape " << i << ", phase " << at) {
                driven_run before = run_of(shapes[i], settings);
                before.phases_max = at;
                program_driver first{before, data.learned}; // the parts are in its memory
                driven_run now = run_of(shapes[(i + 1) % std::size(shapes)], settings);
                const driven_result ran = well(first);
                auto carried = first.end();
                BOOST_REQUIRE(carried.ok());
                scheduled::carried_site site = program_driver{now, data.learned}.carried_site();
                site.memory = first.site().memory;
                const auto fits = now.program.carry_over(first.carried_site(), site, *carried);
                BOOST_REQUIRE_MESSAGE(fits.ok(), (fits ? "" : fits.failure().message()));
                BOOST_TEST(carried->phase >= ran.phases);
                now.start = *carried;
                program_driver second{now, data.learned}, again{now, data.learned};
                const driven_result went_on = well(second);
                BOOST_TEST(went_on.changes == well(again).changes,
                           boost::test_tools::per_element());
                double last = ran.standings.empty() ? 1e300 : objective_of(ran.standings.back());
                for (const auto& standing : went_on.standings) {
                    BOOST_TEST(objective_of(standing) <= last * (1 + 1e-6));
                    last = objective_of(standing);
                }
                BOOST_TEST(went_on.is_done);
                BOOST_TEST(std::abs(last / whole - 1) < 0.02);
            }
        }
}

BOOST_AUTO_TEST_CASE(other_workers_are_refused) {
    const ratings data = make_ratings({.users = 80, .items = 60});
    capnp::MallocMessageBuilder settings;
    driven_run run = run_of(shapes[0], settings);
    run.phases_max = 20;
    program_driver driver{run, data.learned};
    well(driver);
    auto carried = driver.end();
    run.workers = 3;
    const auto site = program_driver{run, data.learned}.carried_site();
    const auto fits = run.program.carry_over(driver.carried_site(), site, *carried);
    BOOST_REQUIRE(!fits.ok());
    BOOST_TEST((fits.failure().code() == errc::usage));
    BOOST_TEST(fits.failure().message().find("schedule.workers") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
