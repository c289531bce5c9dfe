// What a trainer says where a run stops, fails, or goes on without some of it.
#include <boost/test/unit_test.hpp>

#include "actors/training/run_sentences.hpp"

using namespace troupe;

namespace {

const std::optional<std::string> nothing;
const std::optional<std::string> folder{"saved/epoch-0001"};

run_course_options two_epochs() {
    return {.saves = true, .shape = {.samples = 9, .epochs = 2}};
}

// Goes on to this phase, with one stage.
run_course course_at(run_phase phase, const run_course_options& options = two_epochs()) {
    run_course course{options};
    course.set_stages(1, 1);
    while (course.phase() != phase) {
        course.take(course.phase());
        course.advance(9);
    }
    return course;
}

} // namespace

BOOST_AUTO_TEST_SUITE(sentences_of_runs)

BOOST_AUTO_TEST_CASE(a_stop_in_order_says_how_far_the_run_came) {
    const run_course fresh{two_epochs()};
    BOOST_TEST(stopped_in_order({fresh, nothing}) ==
               "stopped before the first minibatch; nothing was saved: the app names no "
               "checkpoint.directory");
    const run_course after = course_at(run_phase::snapshotting);
    BOOST_TEST(stopped_in_order({after, folder}) ==
               "stopped after epoch 1, saved in saved/epoch-0001; go on from there with --resume");
    run_course within = course_at(run_phase::training);
    within.stop();
    within.take(run_phase::training);
    within.advance(4);
    BOOST_TEST(stopped_in_order({within, folder}) ==
               "stopped in epoch 1 after 4 of 9 minibatches, saved in saved/epoch-0001; go on from "
               "there with --resume");
}

BOOST_AUTO_TEST_CASE(a_stop_at_once_says_what_was_saved) {
    const run_course placing = course_at(run_phase::placing);
    BOOST_TEST(stopped_at_once({placing, nothing}, false) ==
               "stopped before training; nothing was saved");
    BOOST_TEST(stopped_at_once({placing, folder}, false) ==
               "stopped before training; the last checkpoint is saved/epoch-0001; go on from it "
               "with --resume");
    const run_course writing = course_at(run_phase::writing);
    BOOST_TEST(stopped_at_once({writing, folder}, true) ==
               "stopped at once by a second signal; the last checkpoint may or may not have been "
               "finished, the one before it is saved/epoch-0001; --resume goes on from the newest "
               "that was");
}

BOOST_AUTO_TEST_CASE(a_loss_says_how_to_go_on) {
    const run_course course{two_epochs()};
    const error why{errc::unreachable, "node b is lost"};
    const error lost = ended_by_loss({course, folder}, why, "the data");
    BOOST_TEST((lost.code() == errc::lost));
    BOOST_TEST(lost.message() == "node b is lost; it carried the data; the last checkpoint is "
                                 "saved/epoch-0001, go on from it with --resume");
    BOOST_TEST(how_to_go_on({course, nothing}) == "; no checkpoint was saved yet");
    const run_course unsaved{run_course_options{}};
    BOOST_TEST(how_to_go_on({unsaved, nothing}) ==
               "; nothing was saved: the app names no checkpoint.directory");
    // Nothing is lost of a node that is there.
    const error refused{errc::refused, "node a: it gave up the connection"};
    const error given_up = ended_by_loss({course, folder}, refused, "stage 0 on a/cpu:0");
    BOOST_TEST((given_up.code() == errc::lost));
    BOOST_TEST(given_up.message() == "node a: it gave up the connection; the last checkpoint is "
                                     "saved/epoch-0001, go on from it with --resume");
}

BOOST_AUTO_TEST_CASE(a_node_carries_its_stages_and_a_stage_itself) {
    plan p;
    const auto stage = [&](std::uint32_t number, std::uint32_t replica, node_id node) {
        p.actors.push_back({.where = {.node = node, .node_name = "n", .device = "cpu:0"},
                            .stage = number,
                            .replicas = {replica}});
    };
    stage(0, 0, node_id{1});
    stage(1, 0, node_id{2});
    stage(0, 1, node_id{2});
    const training_cast cast{1, p.actors};
    BOOST_TEST(carried_by(cast.agent_of(1), p, cast) ==
               "stage 1 on n/cpu:0, stage 0 of replica 1 on n/cpu:0");
    BOOST_TEST(carried_by({node_id{3}, actor_number{2}}, p, cast) == "");
}

BOOST_AUTO_TEST_CASE(memory_that_does_not_suffice_asks_for_less_at_once) {
    const error why{errc::exhausted, "no memory"};
    run_course_options options = two_epochs();
    options.shape.batch = {.first = 4, .maximum = 4};
    const run_course training = course_at(run_phase::training, options);
    BOOST_TEST(advised({training, nothing}, why, {.more_stages = true, .elsewhere = ", or more"})
                   .message() == "no memory; use a smaller train.batch or more stages, or more");
    // Weights are made first, whose size does not depend on the batch.
    const run_course connecting = course_at(run_phase::connecting, options);
    BOOST_TEST(advised({connecting, nothing}, why, {}).message() ==
               "no memory; use smaller layers");
    options.epochs_done = 1;
    options.minibatches_done = 3; // of 4 samples
    options.shape.batch = {.first = 4, .every_epochs = 1, .factor = 2, .maximum = 8};
    const run_course grown{options};
    BOOST_TEST(advised({grown, nothing}, why, {}).message() ==
               "no memory; use a smaller train.batch_growth.maximum");
}

BOOST_AUTO_TEST_CASE(numbers_that_are_none_ask_for_another_learning_rate) {
    const run_course course{two_epochs()};
    const error why{errc::numeric, "the loss is not a number"};
    BOOST_TEST(advised({course, folder}, why, {}).message() ==
               "the loss is not a number; a smaller learning_rate (train.optimizer) may help; the "
               "last good checkpoint is saved/epoch-0001");
    const error other{errc::io, "no disk"};
    BOOST_TEST(advised({course, folder}, other, {}).message() == "no disk");
    const error lost{errc::lost, "the device is gone"};
    BOOST_TEST(advised({course, folder}, lost, {}).message() ==
               "the device is gone; the last checkpoint is saved/epoch-0001, go on from it with "
               "--resume");
}

BOOST_AUTO_TEST_CASE(a_run_that_goes_on_says_what_it_misses) {
    plan p;
    p.replicas = 3;
    run_course course{two_epochs()};
    course.set_stages(2, 6);
    course.lose_replica(1);
    BOOST_TEST(note_of_loss(p, course, "b is lost", 0) ==
               "b is lost; the run goes on with 2 of 3 replicas");
    p.sync.push_every = 2;
    BOOST_TEST(note_of_loss(p, course, "b is lost", 1) ==
               "b is lost; the run goes on with 2 of 3 replicas; 1 minibatch that it had will not "
               "be trained on in this epoch; gradients that it had summed up and not pushed are "
               "lost");
}

BOOST_AUTO_TEST_SUITE_END()
