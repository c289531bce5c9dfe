// The norm over all stages, at one of them, against a stage that a test plays.
#include <boost/test/unit_test.hpp>

#include "actors/pipeline/stage/stage_norm.hpp"
#include "schemas/pipeline.capnp.h"
#include "tests/unit/actors_pipeline/played_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr std::uint64_t previous_number = 1, next_number = 2;

// In the first minibatch of an epoch, with gradients whose squares are 32 in all.
struct clipping_stage : played_stage {
    stage_norm norm{*this};

    clipping_stage(std::uint32_t stage, std::uint32_t stages) {
        its_options.at.place = {stage, stages};
        its_options.at.replica = {0, 1};
        its_options.at.schedule = schedule_of_stage("gpipe", stage, stages);
        its_options.update.clip.norm = 1;
        if (stage + 1 < stages)
            its_state.neighbours.next = {number(next_number)};
        begin_epoch(4);
        its_state.gradients = gradients(2);
    }
};

frame_ptr partial(double squares, std::uint64_t minibatch = 40,
                  std::uint64_t sender = next_number) {
    return from<proto::PartialNorm>(sender, {}, [&](proto::PartialNorm::Builder b) {
        b.setMinibatch(minibatch);
        b.setSquares(squares);
    });
}

frame_ptr global(double squares, std::uint64_t minibatch = 40) {
    return from<proto::GlobalNorm>(previous_number, {}, [&](proto::GlobalNorm::Builder b) {
        b.setMinibatch(minibatch);
        b.setSquares(squares);
    });
}

} // namespace

BOOST_AUTO_TEST_SUITE(norms_over_all_stages)

BOOST_AUTO_TEST_CASE(the_last_stage_begins_the_sum_and_ends_with_what_it_is_told) {
    clipping_stage last{1, 2};
    BOOST_TEST(last.norm.is_shared());
    last.norm.start();
    last.do_work();
    BOOST_TEST(last.its_state.gradients.size() == 2u); // they are there again
    const auto sent = last.last_to<proto::PartialNorm>(previous_number);
    BOOST_TEST(sent.getMinibatch() == 40u);
    BOOST_TEST(sent.getSquares() == 32.0);
    BOOST_TEST(!last.norm.squares());
    last.norm.start(); // asked again, while the norm is under way
    BOOST_TEST(last.work.empty());
    last.norm.take(global(50));
    BOOST_TEST(last.norm.squares().value() == 50.0);
    BOOST_TEST(last.went_on == 1u);
    BOOST_TEST(last.sent.size() == 1u);
    last.norm.begin_next();
    BOOST_TEST(!last.norm.squares());
}

BOOST_AUTO_TEST_CASE(a_stage_between_adds_its_own_and_passes_the_total_on) {
    clipping_stage middle{1, 3};
    middle.norm.start();
    middle.do_work();
    BOOST_TEST(middle.sent.empty());
    middle.norm.take(partial(8));
    BOOST_TEST(middle.last_to<proto::PartialNorm>(previous_number).getSquares() == 40.0);
    middle.norm.take(global(60));
    BOOST_TEST(middle.last_to<proto::GlobalNorm>(next_number).getSquares() == 60.0);
    BOOST_TEST(middle.norm.squares().value() == 60.0);
}

BOOST_AUTO_TEST_CASE(the_first_stage_knows_the_total_once_both_sums_are_there_in_any_order) {
    clipping_stage first{0, 2};
    first.norm.take(partial(8));
    BOOST_TEST(first.went_on == 1u);
    BOOST_TEST(!first.norm.squares());
    first.norm.start();
    first.do_work();
    BOOST_TEST(first.norm.squares().value() == 40.0);
    BOOST_TEST(first.last_to<proto::GlobalNorm>(next_number).getSquares() == 40.0);
}

BOOST_AUTO_TEST_CASE(a_norm_that_is_not_due_ends_the_stage) {
    clipping_stage of_another{0, 2};
    of_another.norm.take(partial(8, 41));
    BOOST_TEST_REQUIRE(of_another.failures.size() == 1u);
    BOOST_TEST(of_another.failures[0] == "a norm for minibatch 41 arrives where none is due");
    clipping_stage twice{0, 2};
    twice.norm.take(partial(8));
    twice.norm.take(partial(8));
    BOOST_TEST(twice.failures.size() == 1u);
    clipping_stage early{1, 2};
    early.norm.take(global(8)); // before its own sum
    BOOST_TEST_REQUIRE(early.failures.size() == 1u);
    BOOST_TEST(early.failures[0] == "the norm of minibatch 40 arrives where none is due");
}

BOOST_AUTO_TEST_CASE(what_is_no_neighbours_is_rejected) {
    clipping_stage first{0, 2};
    first.norm.take(partial(8, 40, 99));
    BOOST_TEST(first.rejected == 1u);
    BOOST_TEST(first.failures.empty());
}

BOOST_AUTO_TEST_CASE(stages_that_update_on_their_own_share_no_norm) {
    clipping_stage stage{0, 2};
    stage.its_options.at.schedule.is_synchronous = false;
    BOOST_TEST(!stage.norm.is_shared());
    stage.norm.take(partial(8));
    BOOST_TEST(stage.failures.size() == 1u);
    clipping_stage alone{0, 1};
    BOOST_TEST(!alone.norm.is_shared());
}

BOOST_AUTO_TEST_SUITE_END()
