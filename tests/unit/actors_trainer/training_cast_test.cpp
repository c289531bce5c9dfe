#include <boost/test/unit_test.hpp>

#include "actors/messages.hpp"
#include "actors/training/training_cast.hpp"

using namespace troupe;

namespace {

constexpr std::uint64_t run = 77;
constexpr node_id first{1}, second{2}, third{3};

actor_address at(node_id node, std::uint64_t number) {
    return {node, actor_number{number}};
}

// A stage with two replicas, each with a peer, and one with a cache that both share.
training_cast two_replicas() {
    const auto actor = [](run_role role, std::uint32_t stage, std::vector<std::uint32_t> replicas) {
        planned_actor planned;
        planned.role = role;
        planned.where.node = replicas[0] == 0 ? first : second;
        planned.stage = stage;
        planned.replicas = std::move(replicas);
        return planned;
    };
    return training_cast{run,
                         {actor(run_role::peer, 0, {0}), actor(run_role::stage, 0, {0}),
                          actor(run_role::cache, 1, {0, 1}), actor(run_role::stage, 1, {0}),
                          actor(run_role::peer, 0, {1}), actor(run_role::stage, 0, {1}),
                          actor(run_role::stage, 1, {1})}};
}

// A request of the cast, and the agents' answers to it.
struct asked {
    asked(training_cast& of, std::size_t actor)
        : whom{of.agent_of(actor)}, request{of.ask(actor).body().getRequest()} {}

    result<cast::answer> enter(training_cast& of, actor_address there) const {
        frame_builder<proto::Spawned> answer;
        answer.body().setRun(run);
        answer.body().setRequest(request);
        write_address(answer.body().initAddress(), there);
        return of.enter(answer.body(), whom);
    }
    result<cast::answer> refuse(training_cast& of, actor_address from) const {
        frame_builder<proto::SpawnFailed> answer;
        answer.body().setRun(run);
        answer.body().setRequest(request);
        return of.refuse(answer.body(), from);
    }

    actor_address whom;
    std::uint64_t request;
};

} // namespace

BOOST_AUTO_TEST_SUITE(casts_of_runs)

BOOST_AUTO_TEST_CASE(a_seat_is_taken_when_its_stage_and_all_beside_it_are_there) {
    training_cast parts = two_replicas();
    BOOST_TEST(parts.placements() == 4u);
    const std::size_t placement = *parts.placement_of(1, 0);
    BOOST_TEST((parts.actors_of(placement) == std::vector<std::size_t>{4, 5}));
    const asked stage{parts, 5}, peer{parts, 4};
    BOOST_TEST(stage.request != peer.request);
    BOOST_TEST((stage.whom.node == second));
    BOOST_TEST(stage.enter(parts, at(second, 20))->member == 5u);
    BOOST_TEST(!stage.enter(parts, at(second, 20)).ok()); // it has been answered
    BOOST_TEST(!parts.is_taken(placement));
    BOOST_TEST(peer.enter(parts, at(second, 21))->is_wanted);
    BOOST_TEST(parts.is_taken(placement));
    BOOST_TEST((parts.all(run_role::stage)[placement] == at(second, 20)));
    BOOST_TEST((parts.all(run_role::peer)[placement] == at(second, 21)));
    BOOST_TEST(!parts.all(run_role::peer)[*parts.placement_of(0, 0)]);
}

BOOST_AUTO_TEST_CASE(who_is_shared_stands_beside_all_of_its_replicas) {
    training_cast parts = two_replicas();
    BOOST_TEST(asked(parts, 2).enter(parts, at(first, 20)).ok());
    for (const std::uint32_t replica : {0u, 1u})
        BOOST_TEST((parts.all(run_role::cache)[*parts.placement_of(replica, 1)] == at(first, 20)));
}

BOOST_AUTO_TEST_CASE(answers_for_who_has_left_are_wanted_no_more) {
    training_cast parts = two_replicas();
    const asked peer{parts, 4}, stage{parts, 5}, other{parts, 6};
    BOOST_TEST(peer.enter(parts, at(second, 20)).ok());
    BOOST_TEST(other.enter(parts, at(second, 21)).ok());
    const auto left = parts.leave(1);
    using by_node = std::map<node_id, std::vector<actor_address>>;
    BOOST_TEST((left == by_node{{second, {at(second, 21), at(second, 20)}}}));
    BOOST_TEST(!parts.is_taken(*parts.placement_of(1, 0)));
    BOOST_TEST(parts.leave(1).empty());
    // Another takes its place elsewhere; the answer that is late still comes from where it was asked for.
    parts.move(*parts.placement_of(1, 0), {.node = third});
    const asked again{parts, 5};
    BOOST_TEST((again.whom.node == third));
    BOOST_TEST(!stage.enter(parts, at(second, 22))->is_wanted);
    BOOST_TEST(!parts.all(run_role::stage)[*parts.placement_of(1, 0)]);
    BOOST_TEST(again.enter(parts, at(third, 23))->is_wanted);
    BOOST_TEST((parts.all(run_role::stage)[*parts.placement_of(1, 0)] == at(third, 23)));
}

BOOST_AUTO_TEST_CASE(placements_are_found_by_their_stage_and_by_their_node) {
    training_cast parts = two_replicas();
    const std::size_t placement = *parts.placement_of(1, 0);
    BOOST_TEST(asked(parts, 5).enter(parts, at(second, 20)).ok());
    BOOST_TEST(*parts.placement_of(at(second, 20)) == placement);
    BOOST_TEST(!parts.placement_of(at(second, 21)).has_value());
    BOOST_TEST((parts.placements_on(second) == std::vector{placement, *parts.placement_of(1, 1)}));
    parts.leave(1);
    parts.move(placement, {.node = third, .node_name = "c", .device = "cpu:0"});
    BOOST_TEST((parts.where(placement).node == third));
    BOOST_TEST(parts.describe(placement) == "stage 0 of replica 1 on c/cpu:0");
}

BOOST_AUTO_TEST_CASE(a_refusal_counts_where_its_request_does) {
    training_cast parts = two_replicas();
    const asked before{parts, 4}, after{parts, 4};
    BOOST_TEST(!before.refuse(parts, before.whom)->is_wanted);
    BOOST_TEST(!after.refuse(parts, at(first, 2)).ok()); // of a node that was not asked
    BOOST_TEST(after.refuse(parts, after.whom)->is_wanted);
    BOOST_TEST(!after.refuse(parts, after.whom).ok());
}

BOOST_AUTO_TEST_SUITE_END()
