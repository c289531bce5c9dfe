// The course of a run, walked through all its phases, with stops and failures in each of them.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <vector>

#include "actors/training/run_course.hpp"

namespace troupe {

static std::ostream& boost_test_print_type(std::ostream& out, run_phase phase) {
    static constexpr const char* names[] = {"measuring",    "placing",  "restoring",
                                            "connecting",   "training", "evaluating",
                                            "snapshotting", "writing",  "finished"};
    return out << names[static_cast<int>(phase)];
}

} // namespace troupe

namespace bdata = boost::unit_test::data;
using namespace troupe;

namespace {

constexpr std::size_t stages = 3;
constexpr std::uint64_t per_epoch = 9;

using enum run_phase;
constexpr run_phase phases[] = {measuring,  placing,      restoring, connecting, training,
                                evaluating, snapshotting, writing,   finished};

// With every phase in it: two epochs, each saved.
run_course_options whole() {
    return {.measures = true,
            .resumes = true,
            .saves = true,
            .shape = {.samples = per_epoch, .epochs = 2}};
}

bool asks_stages(run_phase phase) {
    return phase == placing || phase == connecting || phase == training || phase == snapshotting;
}

// Gives all answers of the phase, last stage first. An epoch ends after `minibatches`.
run_phase complete(run_course& course, std::uint64_t minibatches = per_epoch) {
    if (course.phase() == placing)
        course.set_stages(stages, stages);
    for (std::size_t s = asks_stages(course.phase()) ? stages : 1; s-- > 0;) {
        BOOST_TEST(!course.complete());
        BOOST_TEST(course.take(course.phase(), s));
    }
    BOOST_TEST(course.complete());
    return course.advance(minibatches);
}

run_course course_at(run_phase phase, const run_course_options& options = whole()) {
    run_course course{options};
    while (course.phase() != phase)
        complete(course);
    return course;
}

// The phases from the next one to the end.
std::vector<run_phase> rest(run_course course, std::uint64_t minibatches = per_epoch) {
    std::vector<run_phase> seen;
    while (course.phase() != finished)
        seen.push_back(complete(course, minibatches));
    return seen;
}

void check_phases(const std::vector<run_phase>& seen, const std::vector<run_phase>& expected) {
    BOOST_TEST(seen == expected, boost::test_tools::per_element());
}

} // namespace

BOOST_AUTO_TEST_SUITE(course_of_a_run)

BOOST_AUTO_TEST_CASE(only_the_phases_that_the_run_needs_are_gone_through) {
    check_phases(rest(run_course{whole()}),
                 {placing, restoring, connecting, training, evaluating, snapshotting, writing,
                  training, evaluating, snapshotting, writing, finished});
    run_course_options bare;
    bare.shape.samples = per_epoch;
    const run_course course{bare};
    BOOST_TEST((course.phase() == placing));
    check_phases(rest(course), {connecting, training, evaluating, finished});
}

BOOST_AUTO_TEST_CASE(a_run_goes_on_without_a_replica_and_lets_another_join_before_an_epoch) {
    run_course_options options;
    options.shape.epochs = 3;
    options.shape.samples = per_epoch;
    run_course course{options};
    course.set_stages(2, 6);
    const auto answer = [&](const std::vector<std::size_t>& placements) {
        const run_phase phase = course.phase();
        for (const std::size_t placement : placements) {
            BOOST_TEST(course.awaits(placement));
            BOOST_TEST(course.take(phase, placement));
        }
    };
    for (int phase = 0; phase < 2; ++phase) {
        answer({0, 1, 2, 3, 4, 5});
        course.advance();
    }
    answer({0, 1, 3}); // placements 2 and 3 are replica 1's
    course.lose_replica(1);
    BOOST_TEST(course.has_lost(1));
    BOOST_TEST(course.first_lost().value() == 1u);
    BOOST_TEST(course.replicas_left() == 2u);
    BOOST_TEST(!course.take(training, 2));
    BOOST_TEST(!course.complete());
    answer({4, 5});
    BOOST_TEST(course.complete());
    BOOST_TEST((course.advance(per_epoch) == evaluating));
    answer({0});
    BOOST_TEST((course.advance() == training));
    course.join_replica(1);
    BOOST_TEST(!course.has_lost(1));
    BOOST_TEST(!course.first_lost().has_value());
    BOOST_TEST((course.phase() == placing));
    BOOST_TEST(!course.take(placing, 0));
    BOOST_TEST(course.is_joining(1));
    BOOST_TEST(course.lose_replica(1)); // again
    BOOST_TEST((course.phase() == training));
    BOOST_TEST(course.has_lost(1));
    course.join_replica(1);
    answer({2, 3});
    BOOST_TEST((course.advance() == connecting));
    answer({3, 2});
    BOOST_TEST((course.advance() == training));
    answer({0, 1, 2, 3, 4});
    BOOST_TEST(!course.complete());
    answer({5});
    BOOST_TEST(course.complete());
}

BOOST_AUTO_TEST_CASE(checkpoints_are_written_every_so_many_epochs_and_after_the_last) {
    run_course_options options;
    options.saves = true;
    options.save_every_epochs = 2;
    options.shape.epochs = 3;
    options.shape.samples = per_epoch;
    check_phases(rest(course_at(connecting, options)),
                 {training, evaluating, training, evaluating, snapshotting, writing, training,
                  evaluating, snapshotting, writing, finished});
}

BOOST_AUTO_TEST_CASE(a_resumed_run_does_what_is_left) {
    run_course_options options;
    options.resumes = true;
    options.shape.epochs = 2;
    options.shape.samples = per_epoch;
    options.epochs_done = 1;
    options.minibatches_done = per_epoch + 4;
    run_course course = course_at(training, options);
    BOOST_TEST(course.epoch() == 1u);
    BOOST_TEST(course.minibatches_done_of_epoch() == 4u);
    BOOST_TEST(course.shape().minibatches() == 2 * per_epoch);
    BOOST_TEST(!course.may_end_after(per_epoch));
    BOOST_TEST((complete(course, per_epoch - 4) == evaluating));
    BOOST_TEST(course.minibatches_done() == 2 * per_epoch);
    BOOST_TEST((complete(course) == finished));
    // Nothing is left: it ends when its stages stand.
    options.epochs_done = 2;
    options.minibatches_done = 2 * per_epoch;
    check_phases(rest(course_at(connecting, options)), {finished});
}

BOOST_AUTO_TEST_CASE(epochs_may_have_fewer_and_fewer_minibatches) {
    run_course_options options;
    options.resumes = true;
    options.shape = {.samples = 8,
                     .epochs = 3,
                     .batch = {.first = 1, .every_epochs = 1, .factor = 2, .maximum = 4}};
    options.epochs_done = 1;
    options.minibatches_done = 8 + 3;
    run_course course = course_at(training, options);
    BOOST_TEST(course.minibatches_done_of_epoch() == 3u);
    BOOST_TEST(!course.may_end_after(4));
    BOOST_TEST((complete(course, 1) == evaluating));
    BOOST_TEST((complete(course) == training));
    BOOST_TEST(course.minibatches_done_of_epoch() == 0u);
    BOOST_TEST(course.may_end_after(2));
    BOOST_TEST((complete(course, 2) == evaluating));
    BOOST_TEST(course.minibatches_done() == course.shape().minibatches());
}

BOOST_DATA_TEST_CASE(an_answer_counts_once_and_only_in_the_phase_that_asks, bdata::make(phases),
                     phase) {
    run_course course = course_at(phase);
    for (const run_phase asked : phases)
        if (asked != phase)
            BOOST_TEST(!course.take(asked));
    if (phase == finished)
        return;
    if (phase == placing)
        course.set_stages(stages, stages);
    const std::size_t answers = asks_stages(phase) ? stages : 1;
    BOOST_TEST(!course.take(phase, answers));
    for (std::size_t s = 0; s < answers; ++s) {
        BOOST_TEST(!course.complete());
        BOOST_TEST(course.take(phase, s));
        BOOST_TEST(!course.take(phase, s));
    }
    BOOST_TEST(course.complete());
}

BOOST_AUTO_TEST_CASE(an_epoch_is_cut_short_by_a_stop_only) {
    run_course course = course_at(training);
    BOOST_TEST(course.may_end_after(per_epoch));
    BOOST_TEST(!course.may_end_after(per_epoch - 1));
    BOOST_TEST(!course.stop());
    for (std::uint64_t minibatches = 0; minibatches <= per_epoch; ++minibatches)
        BOOST_TEST(course.may_end_after(minibatches));
    BOOST_TEST(!course.may_end_after(per_epoch + 1));
}

BOOST_DATA_TEST_CASE(a_stop_ends_the_run_at_once_or_with_a_checkpoint, bdata::make(phases), phase) {
    run_course course = course_at(phase);
    if (phase == finished)
        return;
    const bool at_once = course.stop();
    BOOST_TEST(course.stopping());
    BOOST_TEST(at_once == (phase < training));
    switch (phase) {
    case training: {
        check_phases(rest(course, 5), {snapshotting, writing, finished});
        check_phases(rest(course), {evaluating, snapshotting, writing, finished});
        complete(course, 5);
        BOOST_TEST(course.epoch() == 0u); // so it is gone on with
        BOOST_TEST(course.minibatches_done() == 5u);
        break;
    }
    case evaluating:
        check_phases(rest(course), {snapshotting, writing, finished});
        break;
    case snapshotting:
        check_phases(rest(course), {writing, finished});
        break;
    case writing:
        check_phases(rest(course), {finished});
        break;
    default:
        break;
    }
    BOOST_TEST(course.stop()); // nobody waits for a checkpoint who asks twice
}

// It has trained: what that came to is saved, whether the newcomer comes or is lost.
BOOST_AUTO_TEST_CASE(a_stop_while_a_replica_joins_ends_with_a_checkpoint) {
    for (const bool is_lost : {false, true}) {
        run_course_options options;
        options.saves = true;
        options.save_every_epochs = 9;
        options.shape.epochs = 3;
        options.shape.samples = per_epoch;
        run_course course{options};
        course.set_stages(1, 2);
        const auto answer_all = [&] {
            for (std::size_t placement = 0; placement < 2; ++placement)
                course.take(course.phase(), placement);
            return course.advance(per_epoch);
        };
        while (course.phase() != training)
            answer_all();
        course.lose_replica(1);
        answer_all();
        BOOST_TEST((answer_all() == training));
        course.join_replica(1);
        BOOST_TEST(!course.stop());
        BOOST_TEST((course.phase() == placing));
        if (is_lost)
            BOOST_TEST(course.lose_replica(1));
        else
            while (course.phase() != snapshotting)
                answer_all();
        BOOST_TEST((course.phase() == snapshotting));
        BOOST_TEST((answer_all() == writing));
        BOOST_TEST((answer_all() == finished));
    }
}

BOOST_AUTO_TEST_CASE(a_stopped_run_without_checkpoints_ends_with_its_epoch) {
    run_course_options options = whole();
    options.saves = false;
    run_course course = course_at(training, options);
    BOOST_TEST(!course.stop());
    check_phases(rest(course, 5), {finished});
    check_phases(rest(course), {evaluating, finished});
}

BOOST_DATA_TEST_CASE(after_a_failure_nothing_is_awaited, bdata::make(phases), phase) {
    run_course course = course_at(phase);
    if (phase == training)
        BOOST_TEST(course.take(training, 1)); // in the middle of the answers
    course.fail();
    BOOST_TEST((course.phase() == finished));
    for (const run_phase asked : phases)
        for (std::size_t s = 0; s < stages; ++s)
            BOOST_TEST(!course.take(asked, s));
}

BOOST_AUTO_TEST_SUITE_END()
