// The end of a run of a program that has checkpoints, in the simulator, and what goes on from it.
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <iterator>

#include "tests/scheduled/chain.hpp"
#include "tests/scheduled/ring.hpp"
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
            scheduled::run_checkpoints::open(saved.path() / "saved", 2, {"chain", {}}).value());
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
        shape.resumed_ends = std::move(commit->ends);
        BOOST_TEST(shape.resumed_ends.size() == (by_sweeps ? shape.schedulers : 0));
        const auto again = result_of(shape, 5, true);
        BOOST_TEST((again.first == short_run.first)); // though all are a few phases further
        BOOST_TEST(again.second.empty());
        BOOST_TEST((store->latest(memory).value()->ends.size() == shape.resumed_ends.size()));
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

// The checkpoint of a run that is stopped by hand is of the phase whose result it writes, also where it is lost meanwhile.
BOOST_AUTO_TEST_CASE(a_run_that_is_stopped_saves_what_it_writes_as_its_result, *seeded) {
    std::size_t compared = 0;
    const seed_range seeds{60};
    for (const std::uint64_t seed : seeds) {
        memory_pool memory{1u << 24};
        random_stream random{seed, 4};
        program_sim_shape shape{.what = chain_program(),
                                .data = std::make_shared<made_rows>(24, 18),
                                .workers = 1 + static_cast<std::uint32_t>(seed % 3),
                                .schedulers = 1 + static_cast<std::uint32_t>(seed / 3 % 3),
                                .window = static_cast<std::uint32_t>(seed / 9 % 3),
                                .nodes = 4};
        if (seed % 2 == 1) { // the result is with the workers, too
            shape.what = ring_program();
            shape.schedulers = 1;
            shape.blocks_per_worker = 2;
        }
        const char* const file = seed % 2 == 1 ? "ring.bin" : "chain.bin";
        const auto to = [&](std::uint64_t phases) {
            return [=](proto::ProgramApp::Builder app) {
                app.getProgram().getSettings().initAs<proto::ChainSettings>().setPhases(1000000);
                app.initStop().setPhases(phases);
            };
        };
        const temporary_folder saved, folder, other;
        const auto store = std::make_shared<scheduled::run_checkpoints>(
            scheduled::run_checkpoints::open(saved.path() / "saved", 2, {"chain", {}}).value());
        program_sim_shape own = shape;
        own.checkpoints = store;
        own.between_commits = std::chrono::milliseconds{40};
        own.result = folder.path().string();
        program_sim run{seed, std::move(own), to(0)};
        const auto wait = [&](std::uint64_t messages) {
            run.sim().run_until([&] { return run.sim().messages_handled() >= messages; },
                                std::chrono::minutes{60});
        };
        wait(900 + random.below(900));
        if (seed % 8 == 3) { // it is asked to stop while it recovers
            run.kill((seed + 1) % run.nodes());
            wait(run.sim().messages_handled() + random.below(60));
        }
        run.run_node().send(run.root(), frame_builder<proto::StopRun>{});
        wait(run.sim().messages_handled() + random.below(30));
        if (seed % 4 < 2 && !run.news().outcome)
            run.kill(seed % run.nodes());
        const run_finished& end = run.to_the_end();
        BOOST_REQUIRE(end.failure.has_value());
        BOOST_TEST((end.failure->code() == errc::cancelled));
        const std::string written = bytes_of(folder.path() / file);
        BOOST_TEST(written.empty() == (run.news().starts == 0));
        if (written.empty())
            continue;
        const auto commit = store->latest(memory).value();
        BOOST_REQUIRE(commit.has_value());
        BOOST_TEST(end.saved == store->latest_folder().string());
        const std::uint64_t number = commit->members[0].number;
        if (number == 0)
            continue; // it had been lost before anything was saved, and began anew; no bound says so
        shape.result = other.path().string();
        program_sim quiet{seed, std::move(shape), to(number)};
        BOOST_TEST(!quiet.to_the_end().failure);
        BOOST_TEST((written == bytes_of(other.path() / file)));
        ++compared;
    }
    BOOST_TEST_MESSAGE("compared: " << compared);
    if (!seeds.are_few()) // a single one may compare none
        BOOST_TEST(compared > 40u);
}

// Which has no numbers to show.
BOOST_AUTO_TEST_CASE(a_run_that_ends_before_a_first_sweep_says_how_many_phases_it_has_done) {
    program_sim run{3,
                    {.what = chain_program(), .data = std::make_shared<made_rows>(24, 18)},
                    [](proto::ProgramApp::Builder app) {
                        app.getProgram().getSettings().initAs<proto::ChainSettings>().setPhases(
                            1000000);
                        app.initStop().setPhases(4);
                    }};
    const run_finished& end = run.to_the_end();
    BOOST_TEST(!end.failure.has_value());
    BOOST_TEST(run.news().milestones.empty());
    BOOST_TEST(end.remarks ==
                   (std::vector<std::string>{"stop.phases reached",
                                             "after 4 phases, before the end of a first sweep"}),
               boost::test_tools::per_element());
    BOOST_TEST(end.json.find("\"phases\":4") != std::string::npos, end.json);
}

// Between the probe that concludes a run and its end.
BOOST_AUTO_TEST_CASE(a_stop_in_the_last_phases_takes_no_checkpoint_from_the_end) {
    for (const std::uint32_t window : {0u, 2u, 8u}) {
        memory_pool memory{1u << 24};
        const temporary_folder saved, folder;
        const auto store = std::make_shared<scheduled::run_checkpoints>(
            scheduled::run_checkpoints::open(saved.path() / "saved", 2, {"chain", {}}).value());
        program_sim run{window + 1,
                        {.what = chain_program(),
                         .data = std::make_shared<made_rows>(24, 18),
                         .window = window,
                         .result = folder.path().string(),
                         .checkpoints = store,
                         .is_stormy = false},
                        [](proto::ProgramApp::Builder app) {
                            app.getProgram().getSettings().initAs<proto::ChainSettings>().setPhases(
                                1000000);
                            app.initStop().setSweeps(5);
                        }};
        run.sim().run_until([&] { return run.news().milestones.size() == 5; },
                            std::chrono::minutes{5});
        run.run_node().send(run.root(), frame_builder<proto::StopRun>{});
        const run_finished& end = run.to_the_end();
        const auto commit = store->latest(memory).value();
        BOOST_REQUIRE(commit.has_value());
        BOOST_TEST(commit->members[0].number == 5 * 7 + window);
        BOOST_TEST(end.saved == store->latest_folder().string());
        BOOST_TEST(!bytes_of(folder.path() / "chain.bin").empty());
    }
}

BOOST_AUTO_TEST_SUITE_END()
