// The end of a run of a program that has checkpoints, in the simulator, and what goes on from it.
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <iterator>

#include "tests/scheduled/chain.hpp"
#include "tests/sim/program_sim.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

std::string bytes_of(const std::filesystem::path& file) {
    std::ifstream in{file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

std::vector<double> numbers_of(const program_news& news) {
    std::vector<double> all;
    for (const run_milestone& m : news.milestones)
        all.push_back(m.numbers.at(0).value);
    return all;
}

} // namespace

BOOST_AUTO_TEST_SUITE(ends_of_programs)

// With checkpoints schedulers go on behind the end, to a phase at which all save what they are.
BOOST_AUTO_TEST_CASE(the_end_of_a_run_is_saved_and_a_larger_bound_goes_on_from_it, *seeded) {
    const auto to = [](std::uint64_t bound, bool by_sweeps) {
        return [=](proto::ProgramApp::Builder app) {
            app.getProgram().getSettings().initAs<proto::ChainSettings>().setPhases(1000000);
            if (by_sweeps)
                app.initStop().setSweeps(bound);
            else
                app.initStop().setPhases(bound * 7);
        };
    };
    for (const std::uint64_t seed : seed_range{40}) {
        memory_pool memory{1u << 24}; // of what the second run goes on from
        random_stream random{seed, 3};
        const std::uint32_t windows[] = {0, 1, 2, 8};
        const bool by_sweeps = seed % 2 == 0;
        program_sim_shape shape{.what = chain_program(),
                                .data = std::make_shared<made_rows>(24, 18),
                                .workers = 1 + static_cast<std::uint32_t>(seed % 3),
                                .schedulers = 1 + static_cast<std::uint32_t>(seed / 3 % 3),
                                .window = windows[seed / 9 % 4],
                                .nodes = 4};
        const auto result_of = [&](const program_sim_shape& s, std::uint64_t bound, bool is_hit) {
            const temporary_folder folder;
            program_sim_shape own = s;
            own.result = folder.path().string();
            program_sim run{seed, std::move(own), to(bound, by_sweeps)};
            if (is_hit) {
                const std::uint64_t until = random.below(900);
                run.sim().run_until(
                    [&] {
                        return run.sim().messages_handled() >= until ||
                               run.news().outcome.has_value();
                    },
                    std::chrono::minutes{60});
                run.kill(seed % run.nodes());
            }
            const auto failure = run.to_the_end().failure;
            BOOST_REQUIRE_MESSAGE(!failure, failure->message());
            return std::pair{bytes_of(folder.path() / "chain.bin"), numbers_of(run.news())};
        };
        const auto short_run = result_of(shape, 5, false), long_run = result_of(shape, 9, false);
        const temporary_folder saved;
        const auto store = std::make_shared<scheduled::run_checkpoints>(
            scheduled::run_checkpoints::open(saved.path() / "saved", 2, {"chain", ""}).value());
        shape.checkpoints = store;
        shape.between_commits = std::chrono::milliseconds{40};
        const auto kept = result_of(shape, 5, true);
        BOOST_TEST((kept.first == short_run.first));
        BOOST_TEST(kept.second == short_run.second, boost::test_tools::per_element());
        auto commit = store->latest(memory).value();
        BOOST_REQUIRE(commit.has_value());
        const std::uint64_t ends_at = by_sweeps ? 5 * 7 + shape.window : 5 * 7;
        BOOST_TEST(commit->members[0].number == ends_at);
        shape.resume = std::move(commit->members);
        const auto went_on = result_of(shape, 9, true);
        BOOST_TEST((went_on.first == long_run.first));
        // A probe that was under way at the end is counted, but not told.
        const std::size_t told = went_on.second.size();
        BOOST_TEST(told >= (by_sweeps && shape.window == 8 ? 3u : 4u));
        BOOST_TEST(went_on.second == std::vector<double>(long_run.second.end() -
                                                             static_cast<std::ptrdiff_t>(told),
                                                         long_run.second.end()),
                   boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_SUITE_END()
