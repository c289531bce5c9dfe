// Where replicas of stages are placed, and what the topology says of devices.
#include <boost/test/unit_test.hpp>

#include <capnp/message.h>

#include "tests/support/pipeline_app.hpp"
#include "tests/unit/actors_plan/plan_devices.hpp"

using namespace troupe;
using namespace troupe::test;

BOOST_AUTO_TEST_SUITE(plans_of_replicas)

BOOST_AUTO_TEST_CASE(a_device_is_slowed_down_where_the_topology_says_so) {
    const auto planned = [](const std::string& device) {
        std::string text = pipeline_app("pipedream", {6}, 1);
        text.insert(text.find("{pipeline:") + 1,
                    "replicas: 2, devices: [{device: " + device + ", slow_down: 4}], ");
        const training_app app = parse_training(text, "app.yaml").value();
        return make_plan({app.app(), devices_of_nodes(2), {}});
    };
    const auto p = planned("node-1/cpu:0");
    BOOST_REQUIRE(p.ok());
    BOOST_TEST(p->stages[0].where[0].slow_down == 1.0f);
    BOOST_TEST(p->stages[0].where[1].slow_down == 4.0f);
    BOOST_TEST(describe(*p).find("on node-0/cpu:0, node-1/cpu:0 (slowed down 4 times)") !=
               std::string::npos);
    BOOST_TEST(planned("cpu:1").failure().message() ==
               "topology.devices[0].device: no device 'cpu:1'; there are: node-0/cpu:0, "
               "node-1/cpu:0");
}

BOOST_AUTO_TEST_CASE(each_replica_of_a_stage_has_a_device_and_the_first_the_one_that_is_named) {
    std::string text = pipeline_app("pipedream", {3, 1, 2}, 1);
    text.replace(text.find("{layers: 3}"), 11, "{layers: 3, replicas: 3}");
    text.replace(text.find("{layers: 1}"), 11, "{layers: 1, device: node-0/cpu:0}");
    const training_app app = parse_training(text, "app.yaml").value();
    BOOST_TEST(!needs_layer_times(app.app(), devices_of_nodes(5)));
    const auto p = make_plan({app.app(), devices_of_nodes(5), {}});
    BOOST_REQUIRE(p.ok());
    std::vector<std::vector<std::uint64_t>> numbers;
    for (const planned_stage& stage : p->stages) {
        auto& of_stage = numbers.emplace_back();
        for (const plan_device& d : stage.where)
            of_stage.push_back(d.node.value() - 1);
    }
    BOOST_TEST((numbers == std::vector<std::vector<std::uint64_t>>{{1, 2, 3}, {0}, {4}}));
    BOOST_TEST(p->stages[0].versions_max == 2u); // of five devices three: 1F1B-RR holds two each
    BOOST_TEST(p->stages[1].versions_max == 2u);
    BOOST_TEST(describe(*p).find("stages with replicas of their own") != std::string::npos);
    BOOST_TEST(describe(*p).find("<-> its replicas: ReduceChunk") != std::string::npos);
    BOOST_TEST(make_plan({app.app(), devices_of_nodes(4), {}})
                   .failure()
                   .message()
                   .find("topology.pipeline.stages: their 5 replicas need a device each, and the "
                         "nodes have 4") == 0u);
}

// Of three stages, the first of which has nothing to learn.
BOOST_AUTO_TEST_CASE(a_stage_with_replicas_has_so_many_times_the_rate_and_says_so) {
    std::string text = pipeline_app("pipedream", {1, 3, 3}, 1);
    text.insert(text.find("    - conv2d"), "    - relu\n");
    text.replace(text.find("{layers: 1}"), 11, "{layers: 1, replicas: 2}");
    text.replace(text.find("{layers: 3}"), 11, "{layers: 3, replicas: 3}");
    const auto planned = [&](const std::string& rate) {
        std::string with = text;
        with.insert(with.find("schedule:"), rate);
        const training_app app = parse_training(with, "app.yaml").value();
        return make_plan({app.app(), devices_of_nodes(6), {}}).value();
    };
    for (const char* rate : {"", "rate: per_sample, "}) {
        const plan p = planned(rate);
        BOOST_TEST(p.stages[0].weights.rate_factor == 2.f);
        BOOST_TEST(p.stages[1].weights.rate_factor == 3.f);
        BOOST_TEST(p.stages[2].weights.rate_factor == 1.f);
        const std::string said = describe(p), line = "  learning rate: 3 times train.optimizer's, "
                                                     "as it has 3 replicas "
                                                     "(topology.pipeline.rate)\n";
        BOOST_TEST(said.find(line) > said.find("stage 1 on"));
        BOOST_TEST(said.find(line) < said.find("stage 2 on"));
        BOOST_TEST(said.find("learning rate:") == said.rfind("learning rate:"));
    }
    const plan p = planned("rate: per_update, ");
    BOOST_TEST(p.stages[1].weights.rate_factor == 1.f);
    BOOST_TEST(describe(p).find("learning rate:") == std::string::npos);
}

// Copies of the whole are one stage with larger minibatches.
BOOST_AUTO_TEST_CASE(replicas_of_the_whole_have_the_rate_of_the_app) {
    std::string text = pipeline_app("pipedream", {3, 3}, 1);
    text.insert(text.find("{pipeline:") + 1, "replicas: 2, ");
    const training_app app = parse_training(text, "app.yaml").value();
    const auto p = make_plan({app.app(), devices_of_nodes(4), {}});
    BOOST_REQUIRE(p.ok());
    BOOST_TEST(p->stages[0].weights.rate_factor == 1.f);
}

BOOST_AUTO_TEST_CASE(what_replicas_of_a_stage_sum_is_told_as_it_is_compressed) {
    std::string text = pipeline_app("pipedream", {3, 3}, 1);
    text.replace(text.find("{layers: 3}"), 11, "{layers: 3, replicas: 2}");
    text.insert(text.find("{pipeline:") + 1, "sync: {all_reduce: {}, codec: int8}, ");
    const auto tells = [&](const std::string& words) {
        const training_app app = parse_training(text, "app.yaml").value();
        return describe(make_plan({app.app(), devices_of_nodes(3), {}}).value()).find(words) !=
               std::string::npos;
    };
    BOOST_TEST(tells("compressed by int8, all-gather"));
    text.replace(text.find("all_reduce: {}, codec: int8"), 27,
                 "all_reduce: {algorithm: ring}, codec: f16");
    BOOST_TEST(tells("compressed by f16, all-reduce in 16 bits by ring"));
    text.replace(text.find("all_reduce: {algorithm: ring}, codec: f16"), 41,
                 "all_reduce: {}, codec: {top_k: {ratio: 0.1, values: int8}}");
    BOOST_TEST(tells("compressed by top_k with values in int8, "));
    text = pipeline_app("gpipe", {6}, 1);
    text.insert(text.find("{pipeline:") + 1,
                "replicas: 2, sync: {all_reduce: {}, codec: sufficient_factors}, ");
    const training_app factors = parse_training(text, "app.yaml").value();
    const auto of_factors = make_plan({factors.app(), devices_of_nodes(2), {}});
    BOOST_REQUIRE(of_factors.ok());
    BOOST_TEST(describe(*of_factors)
                   .find("all-gather of the factors of 1 weight and all-reduce of "
                         "the rest") != std::string::npos);
}

// As from a trainer that has not looked: their sum is not what they stand for.
BOOST_AUTO_TEST_CASE(a_node_takes_no_factors_that_would_be_summed_before_they_are_pushed) {
    capnp::MallocMessageBuilder message;
    auto sync = message.initRoot<proto::Sync>();
    sync.getCodec().setSufficientFactors();
    auto server = sync.initParameterServer();
    server.initConsistency().setAsp();
    BOOST_TEST(replica_sync::of(sync.asReader(), 2).has_value());
    server.setNodeServers(true);
    BOOST_TEST(!replica_sync::of(sync.asReader(), 2).has_value());
    server.setNodeServers(false);
    server.setPushEvery(2);
    BOOST_TEST(!replica_sync::of(sync.asReader(), 2).has_value());
    sync.initGossip();
    BOOST_TEST(!replica_sync::of(sync.asReader(), 2).has_value()); // sends weights
}

// Of 40, 444 and 39 parameters.
BOOST_AUTO_TEST_CASE(what_is_pushed_is_told_as_it_is_compressed) {
    const auto pushed = [](const std::string& sync) {
        std::string text = pipeline_app("gpipe", {6}, 1);
        text.insert(text.find("{pipeline:") + 1, "replicas: 2, sync: " + sync + ", ");
        const training_app app = parse_training(text, "app.yaml").value();
        const auto p = make_plan({app.app(), devices_of_nodes(2), {}});
        BOOST_REQUIRE(p.ok());
        const std::string told = describe(*p);
        const auto at = told.find("Push ");
        return told.substr(at, told.find('\n', at) - at);
    };
    const std::string server = "parameter_server: {consistency: asp}";
    BOOST_TEST(pushed("{" + server + "}") ==
               "Push 2092 B per minibatch of each replica; Pulled of the same size back");
    BOOST_TEST(pushed("{" + server + ", codec: bf16}") ==
               "Push at most 1046 B per minibatch of each replica, compressed by bf16; Pulled 2092 "
               "B back");
    const std::string rounded = "parameter_server: {consistency: asp, pulls: ";
    BOOST_TEST(pushed("{" + rounded + "bf16}}") ==
               "Push 2092 B per minibatch of each replica; Pulled 1046 B back in bf16");
    BOOST_TEST(pushed("{" + rounded + "int8}, codec: bf16}") ==
               "Push at most 1046 B per minibatch of each replica, compressed by bf16; Pulled 547 "
               "B back in int8"); // of six tensors, each below 512 numbers
    // Of 8 samples: 8 (12 + 36) numbers instead of 12 * 36.
    BOOST_TEST(pushed("{" + server + ", codec: sufficient_factors}") ==
               "Push at most 1900 B per minibatch of each replica, 1 weight as factors; Pulled "
               "2092 B back");
}

BOOST_AUTO_TEST_SUITE_END()
