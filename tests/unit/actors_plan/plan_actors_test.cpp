// Which actors a run has, and where.
#include <boost/test/unit_test.hpp>

#include "tests/support/pipeline_app.hpp"
#include "tests/unit/actors_plan/plan_devices.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

// Of stages of three layers each; `topology`: "replicas: 2, sync: all_reduce, ", or nothing.
plan plan_of(const std::string& topology, const std::vector<plan_device>& devices,
             std::string stages = "[{layers: 3}, {layers: 3}]") {
    std::string text = pipeline_app("pipedream", {3, 3}, 1);
    const std::string key = "topology: {", list = "[{layers: 3}, {layers: 3}]";
    text.insert(text.find(key) + key.size(), topology);
    text.replace(text.find(list), list.size(), stages);
    const auto app = parse_training(text, "app.yaml").value();
    return make_plan({app.app(), devices, {}}).value();
}

// "stage-0.1 on node-1"
std::vector<std::string> said(const plan& p) {
    std::vector<std::string> all;
    for (const planned_actor& a : p.actors)
        all.push_back(a.name + " on " + a.where.node_name);
    return all;
}

using words = std::vector<std::string>;

} // namespace

BOOST_AUTO_TEST_SUITE(actors_of_plans)

BOOST_AUTO_TEST_CASE(without_replicas_there_are_stages_alone) {
    BOOST_TEST(said(plan_of("", devices_of_nodes(2))) ==
                   (words{"stage-0 on node-0", "stage-1 on node-1"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(beside_each_replica_stands_what_it_agrees_by) {
    BOOST_TEST(said(plan_of("replicas: 2, sync: all_reduce, ", devices_of_nodes(4))) ==
                   (words{"reducer-0.0 on node-0", "stage-0.0 on node-0", "reducer-1.0 on node-1",
                          "stage-1.0 on node-1", "reducer-0.1 on node-2", "stage-0.1 on node-2",
                          "reducer-1.1 on node-3", "stage-1.1 on node-3"}),
               boost::test_tools::per_element());
    BOOST_TEST(said(plan_of("replicas: 2, sync: gossip, ", devices_of_nodes(4)))[0] ==
               "peer-0.0 on node-0");
    BOOST_TEST(
        said(plan_of("replicas: 2, sync: {parameter_server: {consistency: bsp, shards: 1}}, ",
                     devices_of_nodes(4))) ==
            (words{"shard-0.0 on node-0", "cache-0.0 on node-0", "stage-0.0 on node-0",
                   "shard-1.0 on node-1", "cache-1.0 on node-1", "stage-1.0 on node-1",
                   "cache-0.1 on node-2", "stage-0.1 on node-2", "cache-1.1 on node-3",
                   "stage-1.1 on node-3"}),
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_stage_without_weights_has_nobody_beside_it) {
    const plan p = plan_of("replicas: 2, sync: all_reduce, ", devices_of_nodes(6),
                           "[{layers: 1}, {layers: 2}, {layers: 3}]"); // relu and max_pool
    BOOST_TEST(p.actors.size() == 2u * 5);
    for (const planned_actor& a : p.actors)
        BOOST_TEST((a.stage != 1 || a.role == run_role::stage));
}

BOOST_AUTO_TEST_CASE(a_node_has_one_server_for_its_replicas) {
    std::vector<plan_device> devices;
    for (const std::size_t node : {1u, 1u, 2u, 2u})
        devices.push_back({node_id{node}, "node-" + std::to_string(node),
                           "cpu:" + std::to_string(devices.size() % 2)});
    const std::string sync = "replicas: 4, sync: {parameter_server: {consistency: bsp, "
                             "node_servers: true, shards: 1}}, ";
    const plan p = plan_of(sync, devices, "[{layers: 6}]");
    BOOST_TEST(said(p) ==
                   (words{"shard-0.0 on node-1", "node-server-0 on node-1", "stage-0.0 on node-1",
                          "stage-0.1 on node-1", "node-server-0 on node-2", "stage-0.2 on node-2",
                          "stage-0.3 on node-2"}),
               boost::test_tools::per_element());
    BOOST_TEST((p.actors[1].replicas == std::vector<std::uint32_t>{0, 1}));
    BOOST_TEST((p.actors[4].replicas == std::vector<std::uint32_t>{2, 3}));
    BOOST_TEST(describe(p).find("actors\n  node-1/cpu:0: shard-0.0, node-server-0, stage-0.0\n"
                                "  node-1/cpu:1: stage-0.1\n") != std::string::npos,
               describe(p));
}

BOOST_AUTO_TEST_CASE(stages_with_replicas_of_their_own_have_reducers) {
    BOOST_TEST(said(plan_of("", devices_of_nodes(3), "[{layers: 3, replicas: 2}, {layers: 3}]")) ==
                   (words{"reducer-0.0 on node-0", "stage-0.0 on node-0", "stage-1 on node-2",
                          "reducer-0.1 on node-1", "stage-0.1 on node-1"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
