// Runs of programs whose checkpoints or results cannot be written for a while, or at the end.
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <iterator>

#include "tests/scheduled/chain.hpp"
#include "tests/sim/program_sim.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::test;
namespace fs = std::filesystem;

namespace {

std::string bytes_of(const fs::path& file) {
    std::ifstream in{file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

void break_folder(const fs::path& folder) {
    if (fs::exists(folder))
        fs::rename(folder, folder.string() + "-moved");
    std::ofstream{folder} << "a file, where the folder was";
}
void mend_folder(const fs::path& folder) {
    fs::remove(folder);
    if (fs::exists(folder.string() + "-moved"))
        fs::rename(folder.string() + "-moved", folder);
}

struct disk_run {
    temporary_folder own;
    const fs::path saved = own.path() / "saved", result = own.path() / "result";
    program_sim run;

    explicit disk_run(duration between_commits, std::uint64_t sweeps = 5)
        : run{3,
              {.what = chain_program(),
               .data = std::make_shared<made_rows>(24, 18),
               .result = result.string(),
               .between_commits = between_commits,
               .checkpoints = std::make_shared<scheduled::run_checkpoints>(
                   scheduled::run_checkpoints::open(saved, 2, {"chain", {}}).value()),
               .is_stormy = false},
              [&](proto::ProgramApp::Builder app) {
                  app.getProgram().getSettings().initAs<proto::ChainSettings>().setPhases(1000000);
                  app.initStop().setSweeps(sweeps);
              }} {}
    void to_milestone(std::size_t n) {
        run.sim().run_until([&] { return run.news().milestones.size() >= n; },
                            std::chrono::minutes{5});
    }
    void to_note(const std::string& part) {
        run.sim().run_until(
            [&] { return !run.news().notes.empty() && has(run.news().notes.back(), part); },
            std::chrono::minutes{5});
        BOOST_REQUIRE_MESSAGE(!run.news().notes.empty() && has(run.news().notes.back(), part),
                              part);
    }
    void stop() { run.run_node().send(run.root(), frame_builder<proto::StopRun>{}); }
};

const duration once = std::chrono::hours{1}; // a commit at the beginning, and one at the end

std::string expected_result() {
    disk_run good{once};
    BOOST_REQUIRE(!good.run.to_the_end().failure.has_value());
    return bytes_of(good.result / "chain.bin");
}

} // namespace

BOOST_AUTO_TEST_SUITE(programs_on_bad_disks)

BOOST_AUTO_TEST_CASE(a_checkpoint_that_cannot_be_written_is_a_note_and_the_next_one_is_tried) {
    disk_run d{std::chrono::milliseconds{1}, 40};
    d.to_milestone(3);
    break_folder(d.saved);
    d.to_note("a checkpoint is not written: " + d.saved.string());
    BOOST_TEST(has(d.run.news().notes.back(), "; the run goes on, the last good one is "));
    mend_folder(d.saved);
    d.to_note("checkpoints are written again; ");
    const run_finished& end = d.run.to_the_end();
    BOOST_TEST(!end.failure.has_value());
    BOOST_TEST(end.milestones == 40u);
    BOOST_TEST(fs::exists(fs::path{end.saved} / "manifest.json"));
    BOOST_TEST(!bytes_of(d.result / "chain.bin").empty());
}

// The result is what the run is for.
BOOST_AUTO_TEST_CASE(a_result_is_written_though_the_last_checkpoint_cannot_be) {
    disk_run d{once};
    d.to_milestone(4);
    break_folder(d.saved);
    const run_finished& end = d.run.to_the_end();
    BOOST_TEST(!end.failure.has_value());
    BOOST_REQUIRE(d.run.news().notes.size() == 1u);
    const std::string& note = d.run.news().notes[0];
    BOOST_TEST(note.starts_with("the end of the run is not saved: " + d.saved.string()), note);
    BOOST_TEST(note.ends_with("; --resume goes on from " + end.saved), note);
    BOOST_TEST(!end.saved.empty());
    BOOST_TEST(bytes_of(d.result / "chain.bin") == expected_result());
}

BOOST_AUTO_TEST_CASE(a_result_is_kept_until_it_can_be_written_and_needs_no_node) {
    disk_run d{once};
    d.to_milestone(4);
    break_folder(d.result);
    d.to_note("the result cannot be written: " + d.result.string());
    BOOST_TEST(!d.run.news().outcome.has_value());
    for (std::size_t n = 0; n < d.run.nodes(); ++n)
        d.run.sim().stop(d.run.node(n));
    d.run.sim().run_for(std::chrono::hours{2});
    BOOST_TEST(!d.run.news().outcome.has_value());
    mend_folder(d.result);
    const run_finished& end = d.run.to_the_end();
    BOOST_TEST(!end.failure.has_value());
    BOOST_TEST(d.run.news().notes.back() == "written after all: the result");
    BOOST_TEST(bytes_of(d.result / "chain.bin") == expected_result());
}

BOOST_AUTO_TEST_CASE(a_stop_gives_up_what_is_kept_and_says_what_is_saved) {
    disk_run d{once};
    d.to_milestone(4);
    break_folder(d.result);
    d.to_note("the result cannot be written");
    d.stop();
    const run_finished& end = d.run.to_the_end();
    BOOST_REQUIRE(end.failure.has_value());
    BOOST_TEST((end.failure->code() == errc::cancelled));
    BOOST_TEST(end.failure->message().starts_with(
                   "stopped while the result could not be written: " + d.result.string()),
               end.failure->message());
    BOOST_TEST(
        end.failure->message().ends_with("; " + end.saved + " is saved, --resume goes on from it"),
        end.failure->message());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_written_for_a_day_is_given_up) {
    disk_run d{once};
    d.to_milestone(4);
    break_folder(d.result);
    d.run.sim().run_until([&] { return d.run.news().outcome.has_value(); }, std::chrono::hours{25});
    BOOST_REQUIRE(d.run.news().outcome.has_value());
    const auto& failure = d.run.news().outcome->failure;
    BOOST_REQUIRE(failure.has_value());
    BOOST_TEST((failure->code() == errc::io));
    BOOST_TEST(failure->message().starts_with("the result could not be written, and is given up: "),
               failure->message());
}

// A run is stopped for its checkpoint.
BOOST_AUTO_TEST_CASE(a_run_that_is_stopped_keeps_the_checkpoint_that_cannot_be_written) {
    disk_run d{once, 1000};
    d.to_milestone(4);
    break_folder(d.saved);
    d.stop();
    d.to_note("the last checkpoint cannot be written: " + d.saved.string());
    BOOST_TEST(!bytes_of(d.result / "chain.bin").empty());
    mend_folder(d.saved);
    const run_finished& end = d.run.to_the_end();
    BOOST_REQUIRE(end.failure.has_value());
    BOOST_TEST((end.failure->code() == errc::cancelled));
    BOOST_TEST(end.failure->message().starts_with("stopped after "), end.failure->message());
    BOOST_TEST(has(end.failure->message(), "; what has been found is in " + d.result.string()));
    BOOST_TEST(end.failure->message().ends_with(end.saved + " is saved, --resume goes on from it"));
}

BOOST_AUTO_TEST_SUITE_END()
