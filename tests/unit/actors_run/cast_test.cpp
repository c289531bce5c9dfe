#include <boost/test/unit_test.hpp>

#include "actors/messages.hpp"
#include "actors/run/cast.hpp"
#include "actors/runtime/well_known.hpp"

using namespace troupe;

namespace {

constexpr std::uint64_t run = 7;

plan_device on(std::uint64_t node, const std::string& device) {
    return {.node = node_id{node}, .node_name = "node-" + std::to_string(node), .device = device};
}

// Two members on one node, one on another.
cast three() {
    cast made{run};
    made.add("worker-0", on(1, "cpu:0"));
    made.add("worker-1", on(2, "cpu:0"));
    made.add("worker-2", on(2, "cpu:1"));
    return made;
}

actor_address enter(cast& of, std::size_t member, std::uint64_t number) {
    const auto request = of.ask(member, "worker").body().getRequest();
    frame_builder<proto::Spawned> answer;
    answer.body().setRun(run);
    answer.body().setRequest(request);
    const actor_address there{of.where(member).node, actor_number{number}};
    write_address(answer.body().initAddress(), there);
    const auto taken = of.enter(answer.body(), of.agent_of(member));
    BOOST_REQUIRE(taken.ok());
    BOOST_TEST(taken->member == member);
    return there;
}

} // namespace

BOOST_AUTO_TEST_SUITE(casts)

BOOST_AUTO_TEST_CASE(a_request_names_run_role_and_device) {
    cast c = three();
    auto request = c.ask(2, "worker");
    BOOST_TEST(request.body().getRun() == run);
    BOOST_TEST((request.body().getRole() == "worker"));
    BOOST_TEST((request.body().getDevice() == "cpu:1"));
    BOOST_TEST((c.agent_of(2) == actor_address{node_id{2}, well_known::agent}));
}

BOOST_AUTO_TEST_CASE(it_is_complete_when_all_members_are_there) {
    cast c = three();
    for (std::size_t m = 0; m < c.size(); ++m) {
        BOOST_TEST(!c.is_complete());
        const actor_address there = enter(c, m, 20 + m);
        BOOST_TEST((c.address_of(m) == there));
    }
    BOOST_TEST(c.is_complete());
    BOOST_TEST(static_cast<bool>(c.leave(1)));
    BOOST_TEST(!c.is_complete());
    BOOST_TEST(!c.leave(1));
}

BOOST_AUTO_TEST_CASE(an_answer_of_another_run_or_node_is_refused) {
    cast c = three();
    frame_builder<proto::Spawned> answer;
    answer.body().setRun(run + 1);
    answer.body().setRequest(c.ask(0, "worker").body().getRequest());
    write_address(answer.body().initAddress(), {node_id{1}, actor_number{20}});
    BOOST_TEST(!c.enter(answer.body(), c.agent_of(0)).ok());
    answer.body().setRun(run);
    BOOST_TEST(!c.enter(answer.body(), c.agent_of(1)).ok());
    BOOST_TEST(c.enter(answer.body(), c.agent_of(0)).ok());
}

BOOST_AUTO_TEST_CASE(an_actor_that_is_not_on_the_node_of_its_agent_is_not_entered) {
    for (const actor_address there :
         {actor_address{}, actor_address{node_id{2}, actor_number{20}}}) {
        cast c = three();
        frame_builder<proto::Spawned> answer;
        answer.body().setRun(run);
        answer.body().setRequest(c.ask(0, "worker").body().getRequest());
        write_address(answer.body().initAddress(), there);
        const auto entered = c.enter(answer.body(), c.agent_of(0));
        BOOST_REQUIRE(!entered.ok());
        BOOST_TEST((entered.failure().code() == errc::refused));
        BOOST_TEST(!c.address_of(0));
    }
}

BOOST_AUTO_TEST_CASE(with_an_agent_all_members_of_its_node_are_gone) {
    cast c = three();
    const actor_address first = enter(c, 0, 20);
    BOOST_TEST((c.gone_with(first) == std::vector<std::size_t>{0}));
    BOOST_TEST((c.gone_with(c.agent_of(1)) == std::vector<std::size_t>{1, 2}));
    BOOST_TEST(c.gone_with({node_id{3}, well_known::agent}).empty());
    BOOST_TEST(c.describe(c.gone_with(c.agent_of(1))) ==
               "worker-1 on node-2/cpu:0, worker-2 on node-2/cpu:1");
    BOOST_TEST(c.agents().size() == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
