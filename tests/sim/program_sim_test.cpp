// The actors that run programs of scheduled parameters, in the simulator: the same bits whatever the network does and
// whoever is lost.
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <tuple>

#include "actors/runtime/actor_names.hpp"
#include "tests/scheduled/chain.hpp"
#include "tests/sim/program_sim.hpp"
#include "tests/support/program_driver.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr std::uint64_t phases = 60;

program_sim_shape chain_shape(std::uint32_t workers, std::uint32_t schedulers,
                              std::uint32_t window) {
    return {.what = chain_program(),
            .data = std::make_shared<made_rows>(24, 18),
            .workers = workers,
            .schedulers = schedulers,
            .window = window};
}

const auto to_phases = [](proto::ProgramApp::Builder app) {
    app.getProgram().getSettings().initAs<proto::ChainSettings>().setPhases(phases);
};

const auto endless = [](proto::ProgramApp::Builder app) {
    app.getProgram().getSettings().initAs<proto::ChainSettings>().setPhases(1000000);
};

std::string bytes_of(const std::filesystem::path& file) {
    std::ifstream in{file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

using numbers = std::vector<double>; // of the milestones

numbers numbers_of(const program_news& news) {
    numbers all;
    for (const run_milestone& m : news.milestones)
        all.push_back(m.numbers.at(0).value);
    return all;
}

// The end of a run that nothing befalls.
struct end_of_run {
    std::string variables;
    numbers milestones;
};
const end_of_run& undisturbed(std::uint32_t workers, std::uint32_t schedulers,
                              std::uint32_t window) {
    static std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, end_of_run> known;
    end_of_run& end = known[{workers, schedulers, window}];
    if (end.variables.empty()) {
        const temporary_folder folder;
        program_sim_shape shape = chain_shape(workers, schedulers, window);
        shape.result = folder.path().string();
        shape.is_stormy = false;
        program_sim run{1, std::move(shape), to_phases};
        BOOST_REQUIRE(!run.to_the_end().failure);
        end = {bytes_of(folder.path() / "chain.bin"), numbers_of(run.news())};
        BOOST_REQUIRE(!end.variables.empty());
    }
    return end;
}

struct disturbance {
    std::vector<std::uint64_t> kills; // a node each, after so many messages
};

// The number of notes on losses.
std::size_t check_same(std::uint64_t seed, std::uint32_t workers, std::uint32_t schedulers,
                       std::uint32_t window, const disturbance& by = {}) {
    const temporary_folder folder;
    program_sim_shape shape = chain_shape(workers, schedulers, window);
    shape.result = folder.path().string();
    shape.nodes = 4;
    program_sim run{seed, std::move(shape), [&](proto::ProgramApp::Builder app) {
                        to_phases(app);
                        if (seed % 2) // so that schedulers compute on their devices
                            app.getProgram().getSettings().getAs<proto::ChainSettings>().setPadding(
                                300);
                    }};
    for (std::size_t k = 0; k < by.kills.size(); ++k) {
        const std::uint64_t until = run.sim().messages_handled() + by.kills[k];
        run.sim().run_until(
            [&] { return run.sim().messages_handled() >= until || run.news().outcome.has_value(); },
            std::chrono::minutes{60});
        run.kill((seed + k) % run.nodes());
    }
    const run_finished& outcome = run.to_the_end();
    BOOST_REQUIRE_MESSAGE(!outcome.failure, outcome.failure->message());
    const end_of_run& expected = undisturbed(workers, schedulers, window);
    BOOST_TEST((bytes_of(folder.path() / "chain.bin") == expected.variables));
    BOOST_TEST(numbers_of(run.news()) == expected.milestones, boost::test_tools::per_element());
    BOOST_TEST(run.news().starts <= 1);
    return run.news().notes.size();
}

// What inspectors are told of an actor; nothing where there is none.
actor_status status(program_sim& run, const std::string& role) {
    std::vector<node_runtime*> nodes{&run.run_node()};
    for (std::size_t n = 0; n < run.nodes(); ++n)
        nodes.push_back(&run.node(n));
    for (const node_runtime* node : nodes)
        for (const actor_status& a : node->actors())
            if (is_called(a.name, role))
                return a;
    return {};
}

std::string fact(program_sim& run, const std::string& role, const std::string& name) {
    for (const fact_board::fact& f : status(run, role).facts)
        if (f.name == name)
            return f.text;
    return "";
}

std::uint64_t number(program_sim& run, const std::string& role, const std::string& name) {
    const std::string text = fact(run, role, name);
    BOOST_TEST_REQUIRE(!text.empty());
    return std::stoull(text);
}

} // namespace

BOOST_AUTO_TEST_SUITE(programs_in_the_simulator)

BOOST_AUTO_TEST_CASE(actors_compute_what_a_sequential_program_does) {
    made_rows source{24, 18};
    matrix_rows rows{.columns = 18};
    memory_pool memory{1u << 20};
    for (auto piece = source.next(24, memory).value(); piece;
         piece = source.next(24, memory).value()) {
        const auto values = piece->tensors[2].values<float>();
        const auto targets = piece->tensors[3].values<double>();
        rows.values.insert(rows.values.end(), values.begin(), values.end());
        rows.targets.insert(rows.targets.end(), targets.begin(), targets.end());
    }
    capnp::MallocMessageBuilder settings;
    settings.initRoot<proto::ChainSettings>().setPhases(phases);
    for (const std::uint32_t workers : {1u, 2u, 3u, 4u})
        for (const std::uint32_t schedulers : {1u, 2u, 3u})
            for (const std::uint32_t window : {0u, 1u, 2u, 8u}) {
                driven_run run{.program = chain_program(),
                               .settings = settings.getRoot<capnp::AnyPointer>().asReader()};
                run.schedule.window = window;
                run.seed = 5;
                run.workers = workers;
                run.schedulers = schedulers;
                program_driver driver{run, rows};
                const auto sequential = driver.run();
                BOOST_REQUIRE(sequential.ok());
                std::string variables;
                for (const scheduled::saved_part& part : sequential->saved)
                    variables.append(reinterpret_cast<const char*>(part.tensors[0].data()),
                                     part.tensors[0].bytes());
                const end_of_run& actors = undisturbed(workers, schedulers, window);
                BOOST_TEST((actors.variables == variables));
                numbers milestones;
                for (const scheduled::standing& s : sequential->standings)
                    milestones.push_back(s.numbers.at(0).value);
                BOOST_TEST(actors.milestones == milestones, boost::test_tools::per_element());
            }
}

BOOST_AUTO_TEST_CASE(no_storm_changes_a_bit_of_a_program, *seeded) {
    for (const std::uint64_t seed : seed_range{1000}) {
        const std::uint32_t windows[] = {0, 1, 2, 8};
        check_same(seed, 1 + seed % 4, 1 + seed / 4 % 3, windows[seed / 12 % 4]);
    }
}

BOOST_AUTO_TEST_CASE(a_lost_node_changes_no_bit_of_a_program, *seeded) {
    std::size_t losses = 0;
    const seed_range seeds{200};
    std::size_t runs = 0;
    for (const std::uint64_t seed : seeds) {
        random_stream random{seed};
        const std::uint32_t windows[] = {0, 2, 8};
        losses += check_same(seed, 1 + seed % 4, 1 + seed / 4 % 3, windows[seed / 12 % 3],
                             {.kills = {random.below(1500)}}) > 0;
        ++runs;
    }
    BOOST_TEST(
        (seeds.are_few() ||
         losses > runs / 4)); // others strike a node without actors of the run, or come too late
}

BOOST_AUTO_TEST_CASE(a_second_node_that_is_lost_while_the_run_recovers_changes_no_bit, *seeded) {
    std::size_t losses = 0;
    std::size_t runs = 0;
    const seed_range seeds{100};
    for (const std::uint64_t seed : seeds) {
        random_stream random{seed, 1};
        const std::uint32_t windows[] = {0, 2, 8};
        losses += check_same(seed, 2 + seed % 3, 1 + seed / 3 % 3, windows[seed / 9 % 3],
                             {.kills = {random.below(800), random.below(120)}}) > 1;
        ++runs;
    }
    BOOST_TEST((seeds.are_few() || losses > runs / 4));
}

BOOST_AUTO_TEST_CASE(the_actors_of_a_run_say_how_far_it_is) {
    constexpr std::uint64_t window = 2;
    program_sim run{8, chain_shape(3, 2, window), endless};
    const auto until = [&](const std::function<bool()>& is_so) {
        return run.sim().run_until(is_so, std::chrono::minutes{5});
    };
    BOOST_TEST(fact(run, "worker-0", "waits") == "");
    BOOST_TEST_REQUIRE(until([&] { return run.news().milestones.size() > 3; }));

    BOOST_TEST(fact(run, "leader", "course") == "running");
    BOOST_TEST(fact(run, "leader", "losses") == "0");
    BOOST_TEST_REQUIRE(until([&] { return fact(run, "leader", "commit") != "none"; }));
    for (const char* scheduler : {"scheduler-0", "scheduler-1"}) {
        const std::uint64_t folded = number(run, scheduler, "phase");
        BOOST_TEST(folded > 20u);
        BOOST_TEST(number(run, scheduler, "window") == window);
        BOOST_TEST(number(run, scheduler, "probes") == folded / 7);
        const std::string chosen = fact(run, scheduler, "chosen");
        BOOST_TEST((chosen.ends_with(": 3 variables") || chosen.ends_with(": a look at all")),
                   chosen);
    }
    for (const char* worker : {"worker-0", "worker-1", "worker-2"}) {
        const std::uint64_t next = number(run, worker, "phase");
        BOOST_TEST(next > 20u);
        BOOST_TEST(number(run, worker, "applied") == next - 1 - window);
        const std::string last = fact(run, worker, "last");
        const bool is_probe = (next - 1) % 7 == 6;
        BOOST_TEST(last ==
                   "phase " + std::to_string(next - 1) + (is_probe ? ": probe" : ": 1 tensor"));
        BOOST_TEST(until([&] {
            return fact(run, worker, "waits") == "for phase " + fact(run, worker, "phase");
        }));
        BOOST_TEST(until([&] { return fact(run, worker, "waits").empty(); }));
    }
}

BOOST_AUTO_TEST_CASE(a_scheduler_shows_how_late_its_workers_are) {
    constexpr std::uint32_t window = 4;
    program_sim run{9, chain_shape(3, 2, window), endless};
    run.sim().run_until([&] { return run.news().milestones.size() > 5; }, std::chrono::minutes{5});
    const auto rows = status(run, "scheduler-0").workers;
    BOOST_TEST(status(run, "scheduler-1").workers.empty());
    BOOST_TEST_REQUIRE(rows.size() == 3u);
    for (const worker_board::row& row : rows) {
        BOOST_TEST(row.clock > 20u);
        BOOST_TEST(std::accumulate(row.late.begin(), row.late.end(), std::uint64_t{0}) ==
                   row.clock);
        // No phase is chosen before all have computed those that are more than the window below it.
        BOOST_TEST(
            std::accumulate(row.late.begin() + window + 1, row.late.end(), std::uint64_t{0}) == 0u);
    }
}

BOOST_AUTO_TEST_CASE(losses_are_a_fact_of_the_leader) {
    program_sim run{10, chain_shape(3, 2, 2), endless};
    run.sim().run_until([&] { return fact(run, "leader", "commit") != "none"; },
                        std::chrono::minutes{5});
    const std::uint64_t commit = number(run, "leader", "commit");
    run.kill(0);
    run.sim().run_until(
        [&] {
            return fact(run, "leader", "course") == "running" &&
                   number(run, "leader", "commit") > commit;
        },
        std::chrono::minutes{5});
    BOOST_TEST(number(run, "leader", "losses") > 0u);
    BOOST_TEST(number(run, "worker-0", "phase") >= commit);
}

BOOST_AUTO_TEST_CASE(a_part_that_fails_ends_the_run_with_its_sentence) {
    program_sim run{3, chain_shape(3, 2, 2), [](proto::ProgramApp::Builder app) {
                        auto settings =
                            app.getProgram().getSettings().initAs<proto::ChainSettings>();
                        settings.setPhases(1000);
                        settings.setFailsAt(22);
                    }};
    const auto failure = run.to_the_end().failure;
    BOOST_REQUIRE(failure.has_value());
    BOOST_TEST((failure->code() == errc::numeric));
    BOOST_TEST(failure->message().find("made to fail") != std::string::npos, failure->message());
    BOOST_TEST(failure->message().find("worker-") == 0u, failure->message());
}

BOOST_AUTO_TEST_CASE(a_run_whose_nodes_are_all_lost_ends_with_a_sentence) {
    program_sim run{4, chain_shape(3, 1, 2), [](proto::ProgramApp::Builder app) {
                        app.getProgram().getSettings().initAs<proto::ChainSettings>().setPhases(
                            1000000);
                    }};
    run.sim().run_until([&] { return run.news().milestones.size() > 3; }, std::chrono::minutes{5});
    for (std::size_t n = 0; n < run.nodes(); ++n)
        run.kill(n);
    const auto failure = run.to_the_end().failure;
    BOOST_REQUIRE(failure.has_value());
    BOOST_TEST((failure->code() == errc::lost));
    BOOST_TEST(failure->message().find("no node is left to go on") != std::string::npos,
               failure->message());
}

BOOST_AUTO_TEST_CASE(a_run_that_is_stopped_ends_at_the_next_phase) {
    const temporary_folder folder;
    program_sim_shape shape = chain_shape(3, 2, 2);
    shape.result = folder.path().string();
    program_sim run{5, std::move(shape), [](proto::ProgramApp::Builder app) {
                        app.getProgram().getSettings().initAs<proto::ChainSettings>().setPhases(
                            1000000);
                    }};
    run.sim().run_until([&] { return run.news().milestones.size() > 3; }, std::chrono::minutes{5});
    run.run_node().send(run.root(), frame_builder<proto::StopRun>{});
    const auto failure = run.to_the_end().failure;
    BOOST_REQUIRE(failure.has_value());
    BOOST_TEST((failure->code() == errc::cancelled));
    BOOST_TEST(!bytes_of(folder.path() / "chain.bin").empty());
}

BOOST_AUTO_TEST_CASE(a_stop_holds_whatever_is_lost_meanwhile, *seeded) {
    for (const std::uint64_t seed : seed_range{100}) {
        random_stream random{seed, 2};
        const temporary_folder folder;
        program_sim_shape shape = chain_shape(2 + seed % 3, 1 + seed / 3 % 3, 2);
        shape.result = folder.path().string();
        shape.nodes = 4;
        program_sim run{seed, std::move(shape), endless};
        const std::uint64_t stopped = run.sim().messages_handled() + 300 + random.below(500);
        run.sim().run_until([&] { return run.sim().messages_handled() >= stopped; },
                            std::chrono::minutes{60});
        const bool has_begun = run.news().starts > 0;
        run.run_node().send(run.root(), frame_builder<proto::StopRun>{});
        const std::uint64_t lost = run.sim().messages_handled() + random.below(30);
        run.sim().run_until([&] { return run.sim().messages_handled() >= lost; },
                            std::chrono::minutes{60});
        if (!run.news().outcome)
            run.kill(seed % run.nodes());
        const auto failure = run.to_the_end().failure;
        BOOST_REQUIRE(failure.has_value());
        BOOST_TEST((failure->code() == errc::cancelled));
        BOOST_TEST((!has_begun || !bytes_of(folder.path() / "chain.bin").empty()));
    }
}

BOOST_AUTO_TEST_CASE(bounds_of_phases_and_sweeps_hold) {
    program_sim by_phases{
        6, chain_shape(2, 3, 2), [](proto::ProgramApp::Builder app) {
            app.getProgram().getSettings().initAs<proto::ChainSettings>().setPhases(1000000);
            app.initStop().setPhases(50);
        }};
    BOOST_TEST(!by_phases.to_the_end().failure);
    BOOST_TEST(by_phases.news().milestones.size() == 7u); // phases 6, 13, ... 48
    program_sim by_sweeps{
        7, chain_shape(2, 3, 2), [](proto::ProgramApp::Builder app) {
            app.getProgram().getSettings().initAs<proto::ChainSettings>().setPhases(1000000);
            app.initStop().setSweeps(4);
        }};
    BOOST_TEST(!by_sweeps.to_the_end().failure);
    BOOST_TEST(by_sweeps.news().milestones.size() == 4u);
}

BOOST_AUTO_TEST_SUITE_END()
