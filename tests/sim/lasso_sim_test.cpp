// The Lasso on simulated nodes: the bits of its result are those of a run that nothing befalls, whatever the network does
// and whoever is lost.
#include <boost/test/unit_test.hpp>

#include "apps/lasso/lasso.capnp.h"
#include "apps/lasso/lasso.hpp"
#include "apps/lasso/result_files.hpp"
#include "tests/scheduled/chain.hpp"
#include "tests/sim/same_ends.hpp"
#include "tests/support/seeds.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct lasso_shape {
    std::uint32_t workers = 2;
    std::uint32_t schedulers = 1;
    std::uint32_t window = 2;
    std::uint32_t set = 0; // variables of a phase; 0: the whole working set
    auto operator<=>(const lasso_shape&) const = default;
};

// Every combination of these, one after the other.
lasso_shape shape_of(std::uint64_t seed) {
    const std::uint32_t windows[] = {0, 1, 2, 5}, sets[] = {3, 0, 1};
    return {static_cast<std::uint32_t>(1 + seed % 4), static_cast<std::uint32_t>(1 + seed / 4 % 3),
            windows[seed / 12 % 4], sets[seed / 48 % 3]};
}

program_sim_shape sim_shape(const lasso_shape& s, const temporary_folder& folder) {
    return {.what = lasso::lasso_program(),
            .data = std::make_shared<made_rows>(30, 12),
            .workers = s.workers,
            .schedulers = s.schedulers,
            .window = s.window,
            .nodes = 4,
            .result = folder.path().string()};
}

auto settings_of(const lasso_shape& s) {
    return [s](proto::ProgramApp::Builder app) {
        auto lasso = app.getProgram().getSettings().initAs<proto::LassoSettings>();
        auto path = lasso.initPenalty().initPath();
        path.setCount(3);
        path.setRatio(0.1);
        app.getSchedule().getDynamic().setSet(s.set);
        app.initStop().setGap(1e-7);
    };
}

same_ends<lasso_shape>& same_results() {
    static same_ends<lasso_shape> runs{
        {sim_shape, settings_of, {lasso::result_names::coefficients, lasso::result_names::path}}};
    return runs;
}

} // namespace

BOOST_AUTO_TEST_SUITE(lasso_in_the_simulator)

BOOST_AUTO_TEST_CASE(no_storm_changes_a_bit_of_it, *seeded) {
    for (const std::uint64_t seed : seed_range{200})
        same_results().check(seed, shape_of(seed), false);
}

BOOST_AUTO_TEST_CASE(a_lost_node_changes_no_bit_of_it, *seeded) {
    std::size_t losses = 0, runs = 0;
    for (const std::uint64_t seed : seed_range{50}) {
        losses += same_results().check(seed, shape_of(seed * 5), true) > 0;
        ++runs;
    }
    BOOST_TEST(losses >
               runs / 4); // others strike a node without actors of the run, or come too late
}

BOOST_AUTO_TEST_SUITE_END()
