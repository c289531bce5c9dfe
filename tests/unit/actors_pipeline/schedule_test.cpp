#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <map>
#include <set>

#include "actors/pipeline/shape/epoch_shape.hpp"
#include "actors/pipeline/shape/replicated_stages.hpp"
#include "actors/pipeline/shape/stage_order.hpp"
#include "tests/support/stage_schedules.hpp"

namespace bdata = boost::unit_test::data;
using namespace troupe;
using test::schedule_of_stage;

namespace {

std::string listing(const stage_order& order, const epoch_shape& epoch) {
    std::string text;
    for (const instruction& i : list_instructions(order, epoch))
        text += (text.empty() ? "" : " ") + to_string(i);
    return text;
}

stage_order order_of(std::string_view name, std::uint32_t stage, std::uint32_t stages,
                     std::uint32_t microbatches = 1) {
    return stage_order{schedule_of_stage(name, stage, stages, microbatches).steps};
}

// Runs an epoch through stages with so many replicas each, every replica's instructions as soon as they can be; true if it
// comes to its end. An update waits for the backward passes of its round at all replicas of the stage.
bool comes_to_its_end(const std::vector<std::uint32_t>& replicas, std::uint64_t minibatches) {
    const auto stages = static_cast<std::uint32_t>(replicas.size());
    const epoch_shape whole = epoch_shape::of(minibatches, 1, 1);
    struct one_replica {
        stage_order order;
        std::uint64_t forwards = 0, backwards = 0; // finished
    };
    const schedule_table table = make_replicated_stages(replicas);
    std::vector<std::vector<one_replica>> at;
    for (std::uint32_t s = 0; s < stages; ++s)
        at.emplace_back(replicas[s], one_replica{stage_order{steps_of(table, s)}});
    const auto has_passed = [&](std::uint32_t s, std::uint64_t m, bool back) {
        const one_replica& there = at[s][m % replicas[s]];
        return (back ? there.backwards : there.forwards) > m / replicas[s];
    };
    const auto round_is_done = [&](std::uint32_t s, std::uint64_t round) {
        for (std::uint64_t m = round * replicas[s];
             m < std::min((round + 1) * replicas[s], minibatches); ++m)
            if (!has_passed(s, m, true))
                return false;
        return true;
    };
    std::uint64_t updates = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (std::uint32_t s = 0; s < stages; ++s)
            for (std::uint32_t r = 0; r < replicas[s]; ++r) {
                const epoch_shape own = share_of(whole, {r, replicas[s]});
                const auto i = at[s][r].order.next(own);
                if (!i)
                    continue;
                const std::uint64_t m = i->minibatch * replicas[s] + r;
                const bool ready =
                    i->what == step_kind::forward    ? s == 0 || has_passed(s - 1, m, false)
                    : i->what == step_kind::backward ? s + 1 == stages || has_passed(s + 1, m, true)
                                                     : round_is_done(s, i->minibatch);
                if (!ready)
                    continue;
                at[s][r].order.finish(*i, own);
                at[s][r].forwards += i->what == step_kind::forward ? 1 : 0;
                at[s][r].backwards += i->what == step_kind::backward ? 1 : 0;
                updates += i->what == step_kind::update;
                moved = true;
            }
    }
    return updates == minibatches * stages;
}

} // namespace

BOOST_AUTO_TEST_SUITE(schedules)

BOOST_AUTO_TEST_CASE(stages_with_as_many_replicas_each_warm_up_as_one_pipeline) {
    for (std::uint32_t r : {1u, 2u, 5u})
        BOOST_TEST(warm_ups(std::vector{r, r, r, r}) == (std::vector<std::uint32_t>{3, 2, 1, 0}),
                   boost::test_tools::per_element());
    // PipeDream's 2-1: three devices, two of them at the first stage.
    BOOST_TEST(warm_ups(std::vector{2u, 1u}) == (std::vector<std::uint32_t>{1, 0}),
               boost::test_tools::per_element());
    BOOST_TEST(warm_ups(std::vector{15u, 1u}) == (std::vector<std::uint32_t>{1, 0}),
               boost::test_tools::per_element());
    BOOST_TEST(warm_ups(std::vector{1u, 3u}) == (std::vector<std::uint32_t>{3, 0}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(no_number_of_replicas_of_any_stage_gets_a_pipeline_stuck) {
    for (std::uint32_t stages = 1; stages <= 4; ++stages)
        for (std::uint32_t code = 0; code < 1u << (2 * stages); ++code) {
            std::vector<std::uint32_t> replicas;
            for (std::uint32_t s = 0; s < stages; ++s)
                replicas.push_back((code >> 2 * s & 3) + 1);
            for (const std::uint64_t minibatches : {1u, 2u, 5u, 24u, 25u})
                BOOST_TEST_REQUIRE(comes_to_its_end(replicas, minibatches),
                                   stages << " stages, code " << code << ", " << minibatches
                                          << " minibatches");
        }
}

BOOST_AUTO_TEST_CASE(pipedream_lists_the_order_of_the_paper) {
    const epoch_shape epoch = epoch_shape::of(4, 1, 1);
    BOOST_TEST(listing(order_of("pipedream", 0, 3), epoch) ==
               "F0.0 F1.0 F2.0 B0.0 U0 F3.0 B1.0 U1 B2.0 U2 B3.0 U3");
    BOOST_TEST(listing(order_of("pipedream", 2, 3), epoch) ==
               "F0.0 B0.0 U0 F1.0 B1.0 U1 F2.0 B2.0 U2 F3.0 B3.0 U3");
}

BOOST_AUTO_TEST_CASE(gpipe_runs_backwards_in_reverse_and_updates_once_per_minibatch) {
    BOOST_TEST(listing(order_of("gpipe", 1, 2, 3), epoch_shape::of(8, 4, 3)) ==
               "F0.0 F0.1 F0.2 B0.2 B0.1 B0.0 U0 F1.0 F1.1 F1.2 B1.2 B1.1 B1.0 U1");
}

BOOST_AUTO_TEST_CASE(the_next_activation_is_that_behind_those_that_wait_and_the_pass_under_way) {
    const epoch_shape epoch = epoch_shape::of(7, 4, 3); // two minibatches of 3 microbatches
    stage_order order = order_of("gpipe", 1, 2, 3);
    const auto due = [&](std::size_t waiting) {
        return to_string(order.expected_activation(waiting, epoch));
    };
    BOOST_TEST(due(0) == "F0.0");
    BOOST_TEST(due(2) == "F0.2");
    BOOST_TEST(due(3) == "F1.0");
    const instruction first = order.next(epoch).value();
    order.begin(first, epoch);
    BOOST_TEST(due(0) == "F0.1");
    order.finish(first, epoch);
    BOOST_TEST(due(0) == "F0.1");
    BOOST_TEST(due(2) == "F1.0");
    BOOST_TEST(due(4) == "F1.2");
    BOOST_TEST(due(5) == "F2.0"); // the epoch has none
    BOOST_TEST(!order.has_finished_forwards(epoch));
}

BOOST_AUTO_TEST_CASE(microbatches_cover_their_minibatch_once) {
    for (std::uint32_t samples = 1; samples <= 23; ++samples) {
        for (std::uint32_t microbatches = 1; microbatches <= 7; ++microbatches) {
            const epoch_shape epoch = epoch_shape::of(samples, 10, microbatches);
            std::uint64_t covered = 0;
            for (std::uint64_t b = 0; b < epoch.minibatches; ++b) {
                std::uint32_t next = 0;
                for (std::uint32_t m = 0; m < epoch.microbatches_of(b); ++m) {
                    const sample_range rows = epoch.rows_of(b, m);
                    BOOST_TEST(rows.first == next);
                    BOOST_TEST(rows.count > 0u);
                    next += rows.count;
                }
                BOOST_TEST(next == epoch.samples_of(b));
                covered += next;
            }
            BOOST_TEST(covered == samples);
        }
    }
}

BOOST_AUTO_TEST_CASE(an_epoch_that_is_cut_short_ends_with_the_work_that_exists) {
    stage_order order = order_of("pipedream", 0, 3);
    epoch_shape epoch = epoch_shape::of(9, 1, 1);
    for (int n = 0; n < 2; ++n)
        order.finish(order.next(epoch).value(), epoch);
    epoch.minibatches = 2; // the third forward pass was due
    BOOST_TEST(order.has_finished_forwards(epoch));
    BOOST_TEST(listing(order, epoch) == "B0.0 U0 B1.0 U1");
}

// A minibatch with fewer samples than microbatches has fewer of them.
BOOST_AUTO_TEST_CASE(microbatches_that_do_not_exist_are_passed_over) {
    BOOST_TEST(listing(order_of("zero_bubble", 1, 2, 3), epoch_shape::of(5, 4, 3)) ==
               "F0.0 I0.0 F0.1 I0.1 W0.0 F0.2 I0.2 W0.1 W0.2 U0 F1.0 I1.0 W1.0 U1");
}

BOOST_AUTO_TEST_CASE(versions_behind_the_latest_are_kept_where_forwards_come_that_use_them) {
    const auto kept = [](std::string_view name, std::uint32_t s, std::uint32_t microbatches = 1) {
        return versions_kept(schedule_of_stage(name, s, 3, microbatches).steps, microbatches);
    };
    using enum step_kind;
    // An update stands before the forward pass of a table: version 0 of 1.
    BOOST_TEST(versions_kept({{{forward}}, {{backward}, {update}, {forward, 0, 0, 1, 1}}}, 1) ==
               1u);
    for (std::uint32_t s = 0; s < 3; ++s) {
        BOOST_TEST(kept("pipedream", s) == 0u);
        BOOST_TEST(kept("gpipe", s, 4) == 0u);
        BOOST_TEST(kept("two_versions", s, 4) == 1u);
    }
    const auto order = order_of("two_versions", 2, 3, 4);
    BOOST_TEST(order.version_of({step_kind::forward, 0, 3}) == 0u);
    BOOST_TEST(order.version_of({step_kind::forward, 5, 0}) == 4u);
}

// By the papers, not by the tables.
BOOST_AUTO_TEST_CASE(forward_passes_are_as_late_as_their_schedules_promise) {
    for (std::uint32_t s = 0; s < 4; ++s) {
        BOOST_TEST(updates_behind(schedule_of_stage("pipedream", s, 4).steps)[0] == 3 - s);
        for (std::uint32_t m = 0; m < 4; ++m) {
            BOOST_TEST(updates_behind(schedule_of_stage("two_versions", s, 4, 4).steps)[m] == 1u);
            // 3-s microbatches are in flight before, and 4 make an update.
            BOOST_TEST(updates_behind(schedule_of_stage("local_accumulation", s, 4, 4).steps)[m] ==
                       (m < 3 - s ? 1u : 0u));
            for (const char* synchronous : {"gpipe", "one_f_one_b", "zero_bubble", "interleaved"})
                BOOST_TEST(updates_behind(schedule_of_stage(synchronous, s, 4, 4).steps)[m] == 0u);
        }
    }
}

BOOST_AUTO_TEST_CASE(steps_that_are_not_sound_are_refused) {
    const auto why = [](device_steps steps, std::uint32_t microbatches = 1) {
        const auto checked = check_stage_steps(steps, microbatches, true);
        return checked ? std::string{} : checked.failure().message();
    };
    using enum step_kind;
    const std::vector<schedule_step> sound{{forward}, {backward}, {update}};
    BOOST_TEST(why({{}, sound}) == "");
    BOOST_TEST(why({}) != "");
    BOOST_TEST(why({{}, {{backward}, {forward}, {update}}}) != "");
    BOOST_TEST(why({{}, {{forward}, {backward}}}) != "");
    BOOST_TEST(why({{}, sound}, 2) != "");
    BOOST_TEST(why({{}, sound}, 0) != "");
    BOOST_TEST(why({{}, {{forward, 7}, {backward}, {update}}}) != "");
    BOOST_TEST(why({{}, {{forward, 0, 4000000000u}, {backward}, {update}}}) != "");
    BOOST_TEST(why({{{forward}}, {{forward, 0, 0, 1, 1}, {backward}, {update}}}) ==
               "a stage's steps: microbatch 0 is not equally many updates behind in all of them");
    // The gradients of the next minibatch would be added to this one's.
    BOOST_TEST(why({{{forward, 0, 0, 0, 1}, {backward}},
                    {{forward, 0, 0, 1, 1}, {backward, 0, 0, 1}, {update}}}) ==
               "a stage's steps: B1.0 before U0");
}

BOOST_AUTO_TEST_SUITE_END()
