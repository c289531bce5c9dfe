// The course of a replay, step by step: commits and stops meanwhile, and losses when the run is over.
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <iterator>

#include "actors/runtime/actor_names.hpp"
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

std::string fact(const node_runtime& node, const std::string& role, const std::string& name) {
    for (const actor_status& a : node.actors())
        if (is_called(a.name, role))
            for (const fact_board::fact& f : a.facts)
                if (f.name == name)
                    return f.text;
    return "";
}
std::uint64_t commit_of(const program_sim& run) {
    const std::string text = fact(run.run_node(), "leader", "commit");
    return text.empty() || text == "none" ? 0 : std::stoull(text);
}

bool has_note(const program_sim& run, const std::string& words) {
    return std::ranges::any_of(run.news().notes, [&](const std::string& note) {
        return note.find(words) != std::string::npos;
    });
}

using write_app = std::function<void(proto::ProgramApp::Builder)>;
const auto to_phases = [](std::uint64_t phases) -> write_app {
    return [phases](proto::ProgramApp::Builder app) {
        app.getProgram().getSettings().initAs<proto::ChainSettings>().setPhases(phases);
    };
};
const write_app endless = to_phases(1000000);

void wait(program_sim& run, const std::function<bool()>& is_so) {
    BOOST_TEST_REQUIRE(run.sim().run_until(is_so, std::chrono::minutes{5}));
}
void wait(program_sim& run, std::uint64_t messages) {
    const std::uint64_t until = run.sim().messages_handled() + messages;
    wait(run, [&] { return run.sim().messages_handled() >= until; });
}

// Worker-2 is on node-2, without a scheduler; node-3 is spare.
program_sim_shape shape_of(std::uint64_t seed, const temporary_folder& folder) {
    const std::uint32_t windows[] = {0, 2, 5};
    return {.what = chain_program(),
            .data = std::make_shared<made_rows>(24, 18),
            .workers = 3,
            .schedulers = static_cast<std::uint32_t>(1 + seed % 2),
            .window = windows[seed / 2 % 3],
            .nodes = 4,
            .result = folder.path().string(),
            .between_commits = std::chrono::minutes{1}};
}
constexpr std::size_t lost = 2, spare = 3;

} // namespace

BOOST_AUTO_TEST_SUITE(courses_of_replays)

// One is under way nearly always.
BOOST_AUTO_TEST_CASE(commits_that_were_half_made_become_whole, *seeded) {
    const temporary_folder folder;
    for (const std::uint64_t seed : seed_range{30}) {
        program_sim_shape shape = shape_of(seed, folder);
        shape.between_commits = std::chrono::milliseconds{3};
        program_sim run{seed, std::move(shape), endless};
        wait(run, [&] { return commit_of(run) > 0; });
        wait(run, random_stream{seed, 5}.below(300));
        run.kill(lost);
        wait(run, [&] { return has_note(run, " replays "); });
        const std::uint64_t before = commit_of(run);
        wait(run, [&] { return commit_of(run) > before; });
        BOOST_TEST(!has_note(run, "the run goes on from"));
    }
}

// A commit takes the phases before it from those that a scheduler keeps.
BOOST_AUTO_TEST_CASE(schedulers_keep_the_phases_since_the_last_commit_alone) {
    const temporary_folder folder;
    program_sim_shape shape = shape_of(2, folder); // one scheduler, a window of 2
    shape.between_commits = std::chrono::milliseconds{20};
    program_sim run{2, std::move(shape), endless};
    for (int commits = 0; commits < 4; ++commits) {
        const std::uint64_t before = commit_of(run);
        wait(run, [&] { return commit_of(run) > before; });
        const std::uint64_t commit = commit_of(run);
        wait(run, [&] { // the scheduler is told of it
            const std::uint64_t folded = std::stoull(fact(run.node(0), "scheduler-0", "phase"));
            const std::uint64_t kept = std::stoull(fact(run.node(0), "scheduler-0", "kept"));
            return commit_of(run) == commit && kept >= folded - commit &&
                   kept <= folded - commit + 2 + 1;
        });
    }
}

BOOST_AUTO_TEST_CASE(a_stop_holds_while_a_worker_replays, *seeded) {
    for (const std::uint64_t seed : seed_range{20}) {
        memory_pool memory{1u << 24};
        const temporary_folder saved, folder, other;
        const auto store = std::make_shared<scheduled::run_checkpoints>(
            scheduled::run_checkpoints::open(saved.path() / "saved", 2, {"chain", {}}).value());
        program_sim_shape shape = shape_of(seed, folder);
        shape.checkpoints = store;
        program_sim run{seed, std::move(shape), endless};
        wait(run, [&] { return run.news().milestones.size() > 10; });
        run.kill(lost);
        random_stream random{seed, 6};
        if (random.below(2) == 0) // else while its place is taken
            wait(run, [&] { return has_note(run, " replays "); });
        wait(run, random.below(40));
        run.run_node().send(run.root(), frame_builder<proto::StopRun>{});
        const run_finished& end = run.to_the_end();
        BOOST_REQUIRE(end.failure.has_value());
        BOOST_TEST((end.failure->code() == errc::cancelled), end.failure->message());
        BOOST_TEST(!has_note(run, "the run goes on from"));
        const std::uint64_t number = store->latest(memory).value().value().members[0].number;
        program_sim quiet{seed, shape_of(seed, other), [&](proto::ProgramApp::Builder app) {
                              endless(app);
                              app.initStop().setPhases(number);
                          }};
        BOOST_TEST(!quiet.to_the_end().failure);
        BOOST_TEST((bytes_of(folder.path() / "chain.bin") == bytes_of(other.path() / "chain.bin")));
    }
}

// The scheduler has ended, and the leader does not know yet; then it does, and whoever was to take the lost worker's place
// cannot be made.
BOOST_AUTO_TEST_CASE(who_is_to_replace_a_worker_fails_no_run_that_is_over) {
    const temporary_folder folder;
    bool fails = false;
    program_sim_shape shape = shape_of(0, folder); // one scheduler
    shape.is_stormy = false;
    shape.what.make_worker =
        [&fails, make = shape.what.make_worker](
            const scheduled::worker_site& site) -> result<std::unique_ptr<scheduled::worker_part>> {
        if (fails)
            return error{errc::exhausted, "made to fail"};
        return make(site);
    };
    program_sim run{3, std::move(shape), to_phases(100)};
    sim_network& network = run.sim().network();
    const auto course = [&] { return fact(run.run_node(), "leader", "course"); };
    const auto seen = [&] { return fact(run.node(0), "scheduler-0", "probes"); };
    wait(run, [&] { return seen() == "14"; }); // of phase 97
    BOOST_TEST(fact(run.run_node(), "leader", "commit") != "none");
    network.cut(run.run_node().node(), run.node(0).node()); // what it says is on its way
    network.cut(run.run_node().node(), run.node(spare).node());
    wait(run, [&] { return seen() == "15"; }); // the last one
    run.kill(lost);
    wait(run, [&] { return course() == "respawning"; });
    // Both messages lie in its mailbox when it goes on.
    fails = true;
    BOOST_TEST_REQUIRE(run.run_node().pause(run.root()));
    network.heal(run.run_node().node(), run.node(0).node());
    run.sim().run_for(std::chrono::seconds{5});
    network.heal();
    run.sim().run_for(std::chrono::seconds{5});
    BOOST_TEST(course() == "respawning");
    BOOST_TEST_REQUIRE(run.run_node().unpause(run.root()));
    const run_finished& end = run.to_the_end();
    BOOST_TEST(!end.failure.has_value(), (end.failure ? end.failure->message() : ""));
    BOOST_TEST(!bytes_of(folder.path() / "chain.bin").empty());
}

BOOST_AUTO_TEST_SUITE_END()
