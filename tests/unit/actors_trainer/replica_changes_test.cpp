// Replicas that a run loses, and those that take their places.
#include <boost/test/unit_test.hpp>

#include "actors/messages.hpp"
#include "actors/training/replica_changes.hpp"
#include "actors/training/run_devices.hpp"
#include "transport/frame/frame.hpp"

using namespace troupe;

namespace {

constexpr actor_address peer{node_id{1}, actor_number{20}};
constexpr actor_address shard{node_id{2}, actor_number{20}};

// A stage with two replicas, a shard beside the first one, that agree by an asynchronous server.
plan plan_of_two() {
    plan p;
    p.replicas = 2;
    p.sync.server = consistency{};
    p.stages.resize(1);
    const auto actor = [&](run_role role, std::uint32_t replica) {
        p.actors.push_back(
            {.role = role, .where = {.node = node_id{replica + 1}}, .replicas = {replica}});
    };
    actor(run_role::shard, 0);
    actor(run_role::stage, 0);
    actor(run_role::stage, 1);
    return p;
}

std::vector<std::string> names(const std::vector<plan_device>& devices) {
    std::vector<std::string> found;
    for (const plan_device& d : devices)
        found.push_back(where_text(d));
    return found;
}

} // namespace

BOOST_AUTO_TEST_SUITE(changes_of_replicas)

BOOST_AUTO_TEST_CASE(a_loss_is_reported_once) {
    replica_changes changes;
    BOOST_TEST(!changes.report(1).has_value());
    changes.lose(1, "node-1 is lost");
    changes.lose(2, "node-2 is lost");
    BOOST_TEST(changes.report(2).value() == "node-2 is lost");
    BOOST_TEST(!changes.report(2).has_value());
    BOOST_TEST(changes.report(1).value() == "node-1 is lost");
}

BOOST_AUTO_TEST_CASE(the_data_source_learns_once_of_newcomers_that_are_still_there) {
    replica_changes changes;
    changes.join(1);
    changes.join(2);
    changes.lose(1, "again");
    BOOST_TEST((changes.tell_source() == std::vector<std::uint32_t>{2}));
    BOOST_TEST(changes.tell_source().empty());
}

BOOST_AUTO_TEST_CASE(a_newcomer_waits_for_all_who_were_told_of_it) {
    replica_changes changes;
    BOOST_TEST(!changes.is_expecting());
    BOOST_TEST(!changes.confirm(shard));
    changes.expect(shard);
    changes.expect(shard); // of another newcomer
    changes.expect(peer);
    BOOST_TEST(changes.confirm(shard));
    changes.excuse(peer);
    BOOST_TEST(!changes.confirm(peer));
    BOOST_TEST(changes.is_expecting());
    BOOST_TEST(changes.confirm(shard));
    BOOST_TEST(!changes.is_expecting());
}

BOOST_AUTO_TEST_CASE(a_run_goes_on_without_replicas_that_alone_have_nothing) {
    plan p = plan_of_two();
    training_cast parts{1, p.actors};
    BOOST_TEST(!can_go_on_without(0, p, parts)); // it evaluates
    BOOST_TEST(can_go_on_without(1, p, parts));
    p.sync.node_servers = true;
    BOOST_TEST(can_go_on_without(1, p, parts));
    p.stages.resize(2);
    BOOST_TEST(!can_go_on_without(1, p, parts));
    p = plan_of_two();
    p.sync.server.reset();
    BOOST_TEST(!can_go_on_without(1, p, parts));
}

BOOST_AUTO_TEST_CASE(a_run_does_not_go_on_without_a_shard) {
    plan p = plan_of_two();
    p.actors[0].replicas = {1};
    p.actors[0].where = p.actors[2].where;
    training_cast parts{1, p.actors};
    frame_builder<proto::Spawned> answer;
    answer.body().setRun(1);
    answer.body().setRequest(parts.ask(0).body().getRequest());
    write_address(answer.body().initAddress(), shard);
    BOOST_TEST(parts.enter(answer.body(), parts.agent_of(0)).ok());
    BOOST_TEST(!can_go_on_without(1, p, parts));
}

BOOST_AUTO_TEST_CASE(free_devices_are_unused_and_on_nodes_that_are_there) {
    run_devices devices{{{.node = node_id{1}, .node_name = "a", .device = "cpu:0"},
                         {.node = node_id{1}, .node_name = "a", .device = "cpu:1"},
                         {.node = node_id{2}, .node_name = "b", .device = "cpu:0"}}};
    plan_device used = devices.all()[0];
    used.slow_down = 3;
    BOOST_TEST(names(devices.free({used})) == (std::vector<std::string>{"a/cpu:1", "b/cpu:0"}),
               boost::test_tools::per_element());
    frame_builder<proto::NodeJoined> joined;
    auto member = joined.body().initMember();
    member.setNode(3);
    member.setName("c");
    member.initDevices(1)[0].setName("cpu:0");
    BOOST_TEST(!devices.has_agent({node_id{3}, actor_number{2}}));
    devices.join(member);
    BOOST_TEST(devices.has_agent({node_id{3}, actor_number{2}}));
    BOOST_TEST(!devices.has_agent({node_id{3}, actor_number{16}}));
    devices.lose(node_id{1});
    BOOST_TEST(names(devices.free({used})) == (std::vector<std::string>{"b/cpu:0", "c/cpu:0"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
