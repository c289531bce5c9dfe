// The Lasso on simulated nodes: the bits of its result are those of a run that nothing befalls, whatever the network does
// and whoever is lost.
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <iterator>
#include <map>
#include <tuple>

#include "apps/lasso/lasso.capnp.h"
#include "apps/lasso/lasso.hpp"
#include "apps/lasso/result_files.hpp"
#include "tests/scheduled/chain.hpp"
#include "tests/sim/program_sim.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/temporary_folder.hpp"

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

struct end_of_run {
    std::string files;
    std::vector<double> milestones;
    std::uint64_t messages = 0; // that a run needs
};

end_of_run end_of(program_sim& run, const temporary_folder& folder) {
    const run_finished& outcome = run.to_the_end();
    BOOST_REQUIRE_MESSAGE(!outcome.failure, (outcome.failure ? outcome.failure->message() : ""));
    end_of_run end;
    for (const char* name : {lasso::result_names::coefficients, lasso::result_names::path}) {
        std::ifstream in{folder.path() / name, std::ios::binary};
        end.files.append(std::istreambuf_iterator<char>{in}, {});
    }
    BOOST_REQUIRE(!end.files.empty());
    for (const run_milestone& m : run.news().milestones)
        for (const named_number& n : m.numbers)
            end.milestones.push_back(n.value);
    return end;
}

const end_of_run& undisturbed(const lasso_shape& s) {
    static std::map<lasso_shape, end_of_run> known;
    end_of_run& end = known[s];
    if (end.files.empty()) {
        const temporary_folder folder;
        program_sim_shape shape = sim_shape(s, folder);
        shape.is_stormy = false;
        program_sim run{1, std::move(shape), settings_of(s)};
        const std::uint64_t before = run.sim().messages_handled();
        end = end_of(run, folder);
        end.messages = run.sim().messages_handled() - before;
    }
    return end;
}

// The number of notes on losses.
std::size_t check_same(std::uint64_t seed, const lasso_shape& s, bool with_loss) {
    const end_of_run& expected = undisturbed(s);
    const temporary_folder folder;
    program_sim run{seed, sim_shape(s, folder), settings_of(s)};
    if (with_loss) {
        random_stream random{seed};
        const std::uint64_t until = run.sim().messages_handled() + random.below(expected.messages);
        run.sim().run_until(
            [&] { return run.sim().messages_handled() >= until || run.news().outcome.has_value(); },
            std::chrono::minutes{60});
        run.kill(seed % run.nodes());
    }
    const end_of_run end = end_of(run, folder);
    BOOST_TEST((end.files == expected.files));
    BOOST_TEST(end.milestones == expected.milestones, boost::test_tools::per_element());
    return run.news().notes.size();
}

} // namespace

BOOST_AUTO_TEST_SUITE(lasso_in_the_simulator)

BOOST_AUTO_TEST_CASE(no_storm_changes_a_bit_of_it, *seeded) {
    for (const std::uint64_t seed : seed_range{200})
        check_same(seed, shape_of(seed), false);
}

BOOST_AUTO_TEST_CASE(a_lost_node_changes_no_bit_of_it, *seeded) {
    std::size_t losses = 0, runs = 0;
    for (const std::uint64_t seed : seed_range{50}) {
        losses += check_same(seed, shape_of(seed * 5), true) > 0;
        ++runs;
    }
    BOOST_TEST(losses >
               runs / 4); // others strike a node without actors of the run, or come too late
}

BOOST_AUTO_TEST_SUITE_END()
