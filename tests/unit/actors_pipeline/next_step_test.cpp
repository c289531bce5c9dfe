// Every schedule with every agreement, without an actor: what a stage does next in an epoch.
#include <boost/test/unit_test.hpp>

#include "actors/pipeline/shape/next_step.hpp"
#include "actors/pipeline/shape/stage_order.hpp"
#include "actors/pipeline/stage/exchange_course.hpp"
#include "tests/support/stage_schedules.hpp"

using namespace troupe;
using action = exchange_course::action;

namespace {

// How replicas agree, as far as the order of steps goes.
struct way_to_agree {
    std::string name;
    std::optional<weight_exchange> exchange;
    bool leaves = false;           // a server, at the end
    bool updates_together = false; // also without a minibatch of one's own
};

std::vector<way_to_agree> ways() {
    using ending = weight_exchange::ending;
    return {{"none", {}},
            {"summed", {}, false, true},
            {"server", {}, true, true},
            {"local SGD", weight_exchange{.every = 3, .at_end = ending::exchange}},
            {"elastic, synchronous", weight_exchange{.every = 2, .overlaps = true}},
            {"elastic", weight_exchange{.every = 2, .overlaps = true, .waits = false}},
            {"gossip", weight_exchange{.every = 2, .at_end = ending::last_exchange}}};
}

demand demand_of(action a) {
    return a == action::nothing ? demand::nothing : a == action::wait ? demand::wait : demand::act;
}

// One stage alone, whose messages come at once, or answers of peers only where nothing else can be done.
struct played {
    std::uint64_t updates = 0, skipped = 0, exchanges = 0, last_exchanges = 0, additions = 0;
    bool left = false, finished = false;
    std::uint64_t passes = 0;
};

played play(const stage_order& order, const way_to_agree& way, bool answers_late,
            std::uint64_t rounds) {
    const epoch_shape shape{5, 4, 4, 4, 2};
    exchange_course course{way.exchange.value_or(weight_exchange{})};
    stage_order at = order;
    played seen;
    for (int moves = 0; moves < 1000 && !seen.finished; ++moves) {
        const auto next = at.next(shape);
        const bool exchanges = way.exchange.has_value();
        const action before = exchanges ? course.before_pass(at.updates()) : action::nothing;
        const action end = exchanges ? course.at_end(at.updates()) : action::nothing;
        const step s = next_step(
            {.before = demand_of(before),
             .next = next,
             .data_ended = true,
             .lacks_updates = at.updates() < rounds,
             .at_end = way.leaves ? (seen.left ? demand::nothing : demand::act) : demand_of(end)});
        const auto act = [&](action a) {
            if (a == action::add) {
                course.add();
                ++seen.additions;
                return;
            }
            course.hand_over(at.updates(), a == action::hand_over_last);
            ++seen.exchanges;
            seen.last_exchanges += a == action::hand_over_last ? 1 : 0;
            if (!answers_late)
                course.answer(way.exchange->overlaps, at.updates());
        };
        switch (s) {
        case step::wait:
            BOOST_TEST_REQUIRE(course.is_asked()); // the only thing that this stage waits for
            course.answer(way.exchange->overlaps, at.updates());
            break;
        case step::agree:
            act(before);
            break;
        case step::pass:
            ++seen.passes;
            seen.updates += next->what == step_kind::update ? 1 : 0;
            at.finish(*next, shape);
            break;
        case step::skip:
            ++seen.skipped;
            at.finish(at.next_update(), shape);
            break;
        case step::agree_last:
            way.leaves ? void(seen.left = true) : act(end);
            break;
        case step::finish:
            seen.finished = true;
            break;
        }
    }
    return seen;
}

} // namespace

BOOST_AUTO_TEST_SUITE(next_steps)

BOOST_AUTO_TEST_CASE(every_schedule_ends_with_every_agreement_after_all_its_passes_and_exchanges) {
    for (const schedule_row& schedule : schedule_rows())
        for (const way_to_agree& way : ways())
            for (const bool answers_late : {false, true})
                for (const std::uint64_t rounds : {5u, 6u})
                    BOOST_TEST_CONTEXT(schedule.name << ", " << way.name << ", answers "
                                                     << answers_late << ", rounds " << rounds) {
                        const stage_order order{
                            test::schedule_of_stage(schedule.name, 0, 4, 2).steps};
                        const played seen = play(order, way, answers_late, rounds);
                        BOOST_TEST(seen.finished);
                        BOOST_TEST(seen.updates == 5u);
                        BOOST_TEST(seen.skipped == rounds - 5);
                        BOOST_TEST(seen.passes == list_instructions(order, {5, 4, 4, 4, 2}).size());
                        BOOST_TEST(seen.left == way.leaves);
                        if (!way.exchange)
                            continue;
                        const auto& how = *way.exchange;
                        const std::uint64_t due = rounds / how.every; // in the course of the epoch
                        if (how.at_end == weight_exchange::ending::last_exchange)
                            BOOST_TEST(seen.exchanges == due + 1);
                        else if (how.at_end == weight_exchange::ending::exchange)
                            BOOST_TEST(seen.exchanges == due + (rounds % how.every > 0 ? 1 : 0));
                        else if (how.waits || !answers_late)
                            BOOST_TEST(seen.exchanges == due);
                        BOOST_TEST(seen.additions == (how.overlaps ? seen.exchanges : 0u));
                    }
}

BOOST_AUTO_TEST_CASE(what_the_agreement_wants_comes_before_the_schedule_and_at_the_end_after_it) {
    const instruction forward{step_kind::forward, 0, 0};
    using enum demand;
    BOOST_TEST((next_step({.before = wait, .next = forward}) == step::wait));
    BOOST_TEST((next_step({.before = act, .next = forward}) == step::agree));
    BOOST_TEST((next_step({.next = forward, .data_ended = true, .at_end = act}) == step::pass));
    BOOST_TEST((next_step({.data_ended = false, .at_end = act}) == step::wait));
    BOOST_TEST(
        (next_step({.data_ended = true, .lacks_updates = true, .at_end = act}) == step::skip));
    BOOST_TEST((next_step({.data_ended = true, .at_end = wait}) == step::wait));
    BOOST_TEST((next_step({.data_ended = true, .at_end = act}) == step::agree_last));
    BOOST_TEST((next_step({.data_ended = true}) == step::finish));
}

BOOST_AUTO_TEST_CASE(a_stage_that_trains_on_waits_before_its_second_update_at_most) {
    exchange_course waits{weight_exchange{.every = 1, .overlaps = true, .waits = true}};
    waits.hand_over(1, false);
    BOOST_TEST((waits.before_pass(1) == action::nothing));
    BOOST_TEST((waits.before_pass(2) == action::wait));
    waits.answer(true, 2);
    BOOST_TEST((waits.before_pass(1) == action::nothing)); // is added after the next update
    BOOST_TEST((waits.before_pass(2) == action::add));
    exchange_course prompt{weight_exchange{.every = 1, .overlaps = true, .waits = true}};
    prompt.hand_over(1, false);
    prompt.answer(true, 1);
    BOOST_TEST((prompt.before_pass(1) == action::nothing));
    BOOST_TEST((prompt.before_pass(2) == action::add));
    exchange_course free{weight_exchange{.every = 1, .overlaps = true, .waits = false}};
    free.hand_over(1, false);
    BOOST_TEST((free.before_pass(7) == action::nothing));
    exchange_course stops{weight_exchange{.every = 1}};
    stops.hand_over(1, false);
    BOOST_TEST((stops.before_pass(1) == action::wait));
}

// If it were added at once, some passes of a minibatch would use weights from before the addition and others from after it.
BOOST_AUTO_TEST_CASE(an_answer_that_arrives_during_a_minibatch_is_added_after_its_update) {
    exchange_course course{weight_exchange{.every = 2, .overlaps = true, .waits = false}};
    course.hand_over(2, false);
    course.answer(true, 4);                                 // during the fifth minibatch
    BOOST_TEST((course.before_pass(4) == action::nothing)); // nor is the exchange made that was due
    BOOST_TEST((course.at_end(4) == action::add));          // no minibatch follows
    BOOST_TEST((course.before_pass(5) == action::add));
    course.add();
    BOOST_TEST((course.before_pass(5) == action::nothing));
    BOOST_TEST((course.before_pass(6) == action::hand_over));
}

BOOST_AUTO_TEST_SUITE_END()
