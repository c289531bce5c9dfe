#include <boost/test/unit_test.hpp>

#include "actors/trainer/run_cast.hpp"

using namespace troupe;

namespace {

constexpr node_id first{1}, second{2}, third{3};

actor_address at(node_id node, std::uint64_t number) {
    return {node, actor_number{number}};
}

// A stage with two replicas, each with a peer, and one with a cache that both share.
run_cast two_replicas() {
    const auto actor = [](run_role role, std::uint32_t stage, std::vector<std::uint32_t> replicas) {
        planned_actor planned;
        planned.role = role;
        planned.where.node = replicas[0] == 0 ? first : second;
        planned.stage = stage;
        planned.replicas = std::move(replicas);
        return planned;
    };
    return run_cast{{actor(run_role::peer, 0, {0}), actor(run_role::stage, 0, {0}),
                     actor(run_role::cache, 1, {0, 1}), actor(run_role::stage, 1, {0}),
                     actor(run_role::peer, 0, {1}), actor(run_role::stage, 0, {1}),
                     actor(run_role::stage, 1, {1})}};
}

} // namespace

BOOST_AUTO_TEST_SUITE(casts_of_runs)

BOOST_AUTO_TEST_CASE(a_seat_is_taken_when_its_stage_and_all_beside_it_are_there) {
    run_cast cast = two_replicas();
    BOOST_TEST(cast.seats() == 4u);
    const std::size_t seat = *cast.seat_of(1, 0);
    BOOST_TEST((cast.actors_of(seat) == std::vector<std::size_t>{4, 5}));
    const std::uint64_t stage = cast.ask(5), peer = cast.ask(4);
    BOOST_TEST(stage != peer);
    BOOST_TEST(cast.asked(stage)->actor == 5u);
    BOOST_TEST((cast.asked(stage)->node == second));
    BOOST_TEST(cast.enter(stage, at(second, 20)));
    BOOST_TEST(!cast.asked(stage).has_value());
    BOOST_TEST(!cast.is_taken(seat));
    BOOST_TEST(cast.enter(peer, at(second, 21)));
    BOOST_TEST(cast.is_taken(seat));
    BOOST_TEST((cast.all(run_role::stage)[seat] == at(second, 20)));
    BOOST_TEST((cast.all(run_role::peer)[seat] == at(second, 21)));
    BOOST_TEST(!cast.all(run_role::peer)[*cast.seat_of(0, 0)]);
}

BOOST_AUTO_TEST_CASE(who_is_shared_stands_beside_all_of_its_replicas) {
    run_cast cast = two_replicas();
    cast.enter(cast.ask(2), at(first, 20));
    for (const std::uint32_t replica : {0u, 1u})
        BOOST_TEST((cast.all(run_role::cache)[*cast.seat_of(replica, 1)] == at(first, 20)));
}

BOOST_AUTO_TEST_CASE(answers_for_who_has_left_are_wanted_no_more) {
    run_cast cast = two_replicas();
    const std::uint64_t peer = cast.ask(4), stage = cast.ask(5), other = cast.ask(6);
    cast.enter(peer, at(second, 20));
    cast.enter(other, at(second, 21));
    const auto left = cast.leave(1);
    using who = std::pair<node_id, actor_address>;
    BOOST_TEST((left == std::vector<who>{{second, at(second, 21)}, {second, at(second, 20)}}));
    BOOST_TEST(!cast.is_taken(*cast.seat_of(1, 0)));
    BOOST_TEST(cast.leave(1).empty());
    // Another takes its place elsewhere; the answer that is late still comes from where it was asked for.
    cast.move(*cast.seat_of(1, 0), {.node = third});
    const std::uint64_t again = cast.ask(5);
    BOOST_TEST((cast.asked(stage)->node == second));
    BOOST_TEST((cast.asked(again)->node == third));
    BOOST_TEST(!cast.enter(stage, at(second, 22)));
    BOOST_TEST(!cast.all(run_role::stage)[*cast.seat_of(1, 0)]);
    BOOST_TEST(cast.enter(again, at(third, 23)));
    BOOST_TEST((cast.all(run_role::stage)[*cast.seat_of(1, 0)] == at(third, 23)));
}

BOOST_AUTO_TEST_CASE(a_refusal_counts_where_its_request_does) {
    run_cast cast = two_replicas();
    const std::uint64_t before = cast.ask(4), after = cast.ask(4);
    BOOST_TEST(!cast.refuse(before));
    BOOST_TEST(cast.refuse(after));
    BOOST_TEST(!cast.asked(after).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
