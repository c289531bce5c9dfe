// Training runs whose checkpoints cannot be written for a while, or at the end, or never again.
#include <boost/test/unit_test.hpp>

#include <fstream>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "schemas/run.capnp.h"
#include "tests/sim/pipeline_checks.hpp"

using namespace troupe;
using namespace troupe::test;
namespace fs = std::filesystem;

namespace {

// The folder for checkpoints is moved away and a file put in its place, as a full or broken disk fails each write.
struct disk_run {
    temporary_folder own;
    const fs::path folder = own.path() / "saved", moved = own.path() / "moved";
    pipeline_sim run;

    explicit disk_run(unsigned epochs)
        : run{{.faults = calm,
               .nodes = 2,
               .app = pipeline_app("pipedream", {3, 3}, epochs) +
                      "checkpoint: {directory: unused}\n"}} {
        run.start(folder);
    }
    void to_epoch(std::size_t epochs) {
        run.sim().run_until([&] { return run.observer().epochs.size() >= epochs; },
                            std::chrono::minutes{5});
    }
    void to_note(std::size_t notes) {
        run.sim().run_until([&] { return run.observer().notes.size() >= notes; },
                            std::chrono::minutes{5});
        BOOST_REQUIRE(run.observer().notes.size() == notes);
    }
    // While the first checkpoint is in its place, and none is being written.
    void break_disk() const {
        fs::rename(folder, moved);
        std::ofstream{folder} << "in the way";
    }
    void mend_disk() const {
        fs::remove(folder);
        fs::rename(moved, folder);
    }
    void stop() { run.run_node().send(run.trainer_address(), frame_builder<proto::StopRun>{}); }
    std::size_t saved_epochs(const fs::path& in) const {
        return list_checkpoints(in).value().back().progress.epochs_done;
    }
    const std::string& note(std::size_t n) const { return run.observer().notes.at(n); }
};

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(training_runs_on_bad_disks)

BOOST_AUTO_TEST_CASE(a_checkpoint_that_cannot_be_written_is_a_note_and_the_next_one_is_tried) {
    disk_run d{6};
    d.to_epoch(2); // the checkpoint of the first epoch is in its place
    d.run.sim().run_until(
        [&] {
            return list_checkpoints(d.folder).value().size() == 1 && d.saved_epochs(d.folder) == 2;
        },
        std::chrono::minutes{5});
    d.break_disk();
    d.to_note(1);
    BOOST_TEST(d.note(0).starts_with("a checkpoint is not written: " + d.folder.string() +
                                     ": the folder for checkpoints is gone; "),
               d.note(0));
    BOOST_TEST(has(d.note(0), "; the run goes on, the last good one is " + d.folder.string() +
                                  "/epoch-0002, and the next one is tried"),
               d.note(0));
    BOOST_TEST(d.saved_epochs(d.moved) == 2u);
    d.mend_disk();
    d.run.run_to_the_end();
    BOOST_TEST(good_report(d.run).epochs.size() == 6u);
    BOOST_TEST(d.note(1) == "checkpoints are written again; 1 before this one was not");
    BOOST_TEST(d.saved_epochs(d.folder) == 6u);
    BOOST_TEST(*good_report(d.run).checkpoint == d.folder.string() + "/epoch-0006");
}

BOOST_AUTO_TEST_CASE(the_last_checkpoint_is_kept_until_it_can_be_written_and_needs_no_node) {
    disk_run good{2};
    good.run.run_to_the_end();
    disk_run d{2};
    d.to_epoch(1);
    d.run.sim().run_until([&] { return !list_checkpoints(d.folder).value().empty(); },
                          std::chrono::minutes{5});
    d.break_disk();
    d.to_note(1);
    BOOST_TEST(d.note(0).starts_with("the last checkpoint cannot be written: "), d.note(0));
    d.run.sim().run_for(std::chrono::hours{1});
    BOOST_TEST(!d.run.node(0).address_of("stage-0").has_value(), "its actors are let go");
    BOOST_TEST(!d.run.observer().report.has_value());
    for (std::size_t n = 0; n < 2; ++n)
        d.run.sim().stop(d.run.node(n));
    d.run.sim().run_for(std::chrono::hours{1});
    BOOST_TEST(!d.run.observer().report.has_value());
    d.mend_disk();
    d.run.run_to_the_end();
    BOOST_TEST(!good_report(d.run).failure.has_value());
    BOOST_TEST(d.run.observer().notes.back() == "written after all: the last checkpoint");
    const auto last = [](const fs::path& folder) {
        return load_checkpoint(list_checkpoints(folder).value().back()).value();
    };
    const loaded_checkpoint kept = last(d.folder), expected = last(good.folder);
    BOOST_TEST(kept.info().progress.epochs_done == 2u);
    for (std::size_t s = 0; s < 2; ++s)
        BOOST_TEST(kept.info().stages[s].sha256 == expected.info().stages[s].sha256);
}

BOOST_AUTO_TEST_CASE(a_stop_gives_up_what_is_kept) {
    disk_run d{2};
    d.to_epoch(1);
    d.run.sim().run_until([&] { return !list_checkpoints(d.folder).value().empty(); },
                          std::chrono::minutes{5});
    d.break_disk();
    d.to_note(1);
    d.stop();
    d.run.run_to_the_end();
    BOOST_TEST((failure_of(d.run).code() == errc::cancelled));
    const std::string& said = failure_of(d.run).message();
    BOOST_TEST(said.starts_with("stopped while the last checkpoint could not be written: "), said);
    BOOST_TEST(said.ends_with("/epoch-0001, go on from it with --resume"), said);
}

// Who stops a run waits for its checkpoint until the second signal.
BOOST_AUTO_TEST_CASE(a_run_that_is_stopped_keeps_what_it_cannot_save_too) {
    disk_run d{9};
    d.to_epoch(2); // the checkpoint of the first one is in its place
    d.break_disk();
    d.stop();
    d.run.sim().run_until(
        [&] {
            return !d.run.observer().notes.empty() &&
                   has(d.run.observer().notes.back(), "keeps it in memory");
        },
        std::chrono::minutes{5});
    BOOST_TEST(!d.run.observer().report.has_value());
    d.mend_disk();
    d.run.run_to_the_end();
    BOOST_TEST((failure_of(d.run).code() == errc::cancelled));
    BOOST_TEST(has(failure_of(d.run).message(), ", saved in "), failure_of(d.run).message());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_written_for_a_day_is_given_up) {
    disk_run d{2};
    d.to_epoch(1);
    d.run.sim().run_until([&] { return !list_checkpoints(d.folder).value().empty(); },
                          std::chrono::minutes{5});
    d.break_disk();
    d.run.run_to_the_end(std::chrono::hours{25});
    BOOST_TEST((failure_of(d.run).code() == errc::io));
    BOOST_TEST(failure_of(d.run).message().starts_with(
                   "the last checkpoint could not be written, and is given up: "),
               failure_of(d.run).message());
    BOOST_TEST(d.saved_epochs(d.moved) == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
