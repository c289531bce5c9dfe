// What of a plan is noted, and what to do about it.
#include <boost/test/unit_test.hpp>

#include <algorithm>

#include "actors/training/plan/plan.hpp"
#include "tests/support/pipeline_app.hpp"
#include "tests/unit/actors_plan/plan_devices.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

training_app app_of(const std::vector<std::size_t>& layers) {
    return parse_training(pipeline_app("pipedream", layers, 1), "app.yaml").value();
}

} // namespace

BOOST_AUTO_TEST_SUITE(plan_notes)

BOOST_AUTO_TEST_CASE(a_plan_says_which_device_cannot_hold_its_stages) {
    const auto app = app_of({3, 3});
    const auto noted = [&](std::size_t nodes, std::uint64_t bytes, bool of_cluster) {
        auto devices = devices_of_nodes(nodes);
        for (plan_device& d : devices)
            d.memory_bytes = bytes;
        const plan made = make_plan({app.app(), devices, {1, 1, 1, 1, 1, 1}}).value();
        std::uint64_t most = 0;
        for (const planned_stage& s : made.stages)
            most = std::max(most, s.needs.weight_bytes + s.needs.kept_bytes);
        return std::pair{notes_of(made, of_cluster), most};
    };
    const std::uint64_t most = noted(2, 0, false).second;
    BOOST_TEST(noted(2, 0, false).first.empty());
    BOOST_TEST(noted(2, most, false).first.empty());
    const auto is_short = noted(2, most - 1, false).first;
    BOOST_REQUIRE(is_short.size() == 1u);
    BOOST_TEST(is_short[0].find("may not hold what") != std::string::npos);
    // Both stages share it.
    const auto shared = noted(1, most, true).first;
    BOOST_REQUIRE(shared.size() == 2u);
    BOOST_TEST(shared[0] == "stages that share a device take turns: 0, 1 on node-0/cpu:0");
    BOOST_TEST(shared[1].starts_with("node-0/cpu:0 may not hold what its stages keep: "));
    BOOST_TEST(shared[1].ends_with(
        ": use more stages, a smaller train.batch or a larger bound (troupe node --memory-mb)"));
}

BOOST_AUTO_TEST_CASE(what_is_advised_for_too_little_memory_can_be_done) {
    const auto advice = [](const training_app& app, const std::string& device) {
        std::vector<double> layer_ns(6, 1);
        auto devices = devices_of_nodes(6);
        for (plan_device& d : devices)
            d.memory_bytes = d.node.value() == 1 ? 1000 : 0;
        devices[0].device = device;
        const auto notes = notes_of(make_plan({app.app(), devices, layer_ns}).value(), false);
        BOOST_REQUIRE(notes.size() == 1u);
        return notes[0].substr(notes[0].rfind(": use ") + 2);
    };
    // All weights are more than the bound, and a stage has one layer.
    BOOST_TEST(advice(app_of({1, 1, 1, 1, 1, 1}), "cuda:0") ==
               "use a larger bound (--gpu-memory-mb)");
    const auto few =
        parse_training(pipeline_app("pipedream", {3, 3}, 1), "app.yaml", {"train.batch=1"});
    BOOST_TEST(advice(*few, "cpu:0") == "use more stages or a larger bound (--memory-mb)");
}

BOOST_AUTO_TEST_CASE(products_in_16_bits_take_rounded_factors_on_a_gpu) {
    const std::string text = "troupe: 1\n"
                             "data: {synthetic: {train_samples: 32, classes: 10}}\n"
                             "model: {input: [64], layers: [{linear: {out: 4096}}, relu, {linear: "
                             "{out: 10}}]}\n"
                             "train: {batch: 8, optimizer: {sgd: {learning_rate: 0.1}}}\n";
    const auto planned = [&](const std::string& precision, const std::string& device,
                             std::uint64_t bytes) {
        const auto app = parse_training(text, "app.yaml", {"model.precision=" + precision}).value();
        auto devices = devices_of_nodes(1);
        devices[0].device = device;
        devices[0].memory_bytes = bytes;
        return make_plan({app.app(), devices, {}}).value();
    };
    const plan exact = planned("f32", "cuda:0", 0);
    const std::uint64_t kept =
        exact.stages[0].needs.weight_bytes + exact.stages[0].needs.kept_bytes;
    const std::uint64_t rounded = 2 * (64 * 4096 + 8 * 4096); // weights and the output's gradient
    BOOST_TEST(exact.stages[0].needs.rounded_bytes == 0u);
    for (const std::string precision : {"bf16", "f16"}) {
        BOOST_TEST(planned(precision, "cuda:0", 0).stages[0].needs.rounded_bytes == rounded);
        BOOST_TEST(notes_of(planned(precision, "cuda:0", kept + rounded), false).empty());
        const auto notes = notes_of(planned(precision, "cuda:0", kept + rounded - 1), false);
        BOOST_REQUIRE(notes.size() == 1u);
        BOOST_TEST(notes[0].find(" of activations, 589.8 kB of factors in 16 bits; ") !=
                   std::string::npos);
        BOOST_TEST(notes_of(planned(precision, "cpu:0", kept), false).empty());
    }
    for (const std::string precision : {"f32", "tf32"})
        BOOST_TEST(notes_of(planned(precision, "cuda:0", kept), false).empty());
}

// With 5.2 MB of gradients.
BOOST_AUTO_TEST_CASE(a_codec_with_which_replicas_send_more_is_noted) {
    const std::string text = "troupe: 1\n"
                             "data: {synthetic: {train_samples: 640, classes: 10}}\n"
                             "model: {input: [3136], layers: [{linear: {out: 412}}, relu, {linear: "
                             "{out: 10}}]}\n"
                             "train: {batch: 8, optimizer: {sgd: {learning_rate: 0.1}}}\n"
                             "topology: {replicas: 64}\n";
    const auto planned = [&](std::size_t replicas, const std::string& sync) {
        const auto app = parse_training(text, "app.yaml",
                                        {"topology.replicas=" + std::to_string(replicas),
                                         "topology.sync=" + sync})
                             .value();
        return make_plan({app.app(), devices_of_nodes(replicas), {}}).value();
    };
    const auto told = [](const plan& p) {
        const auto notes = notes_of(p, false);
        BOOST_TEST(notes.size() <= 1u);
        return notes.empty() ? std::string{} : notes[0];
    };
    const std::string more = "replicas send more per update with this codec than without it: ";
    // Those of which payloads are cut never send more, nor those that are summed on their way, where sparse sums that fill
    // up are dense.
    for (const std::string codec :
         {"int8", "qsgd", "tern_grad", "one_bit", "bf16", "f16", "{top_k: {ratio: 0.01}}",
          "{top_k: {ratio: 0.01, values: f16}}", "{top_k: {ratio: 0.01, values: int4}}",
          "{top_k: {ratio: 0.3}}", "{top_k: {ratio: 1}}", "{deep_gradient: {ratio: 0.6}}",
          "{deep_gradient: {ratio: 0.001}}", "{deep_gradient: {ratio: 0.001, values: int8}}",
          "power_sgd", "sufficient_factors", "{threshold: {threshold: 0.1}}"})
        for (std::size_t replicas = 2; replicas <= 64; ++replicas) {
            const plan p = planned(replicas, "{all_reduce: {}, codec: " + codec + "}");
            const planned_reduction sum = reduction_of(p, p.stages[0]);
            const std::size_t uneven = codec.starts_with("{threshold") ? 4 * replicas : 0;
            BOOST_TEST(sum.bytes <= sum.bytes_without + uneven, codec << " on " << replicas);
            BOOST_TEST(told(p) == "");
        }
    // Two buckets, each of which one replica sums for all. The larger one's sum has 5 bits a number: 655 kB to each other
    // replica, of which 15 are more than the 9.7 MB that a ring sends.
    for (std::size_t replicas = 2; replicas <= 64; ++replicas)
        BOOST_TEST(told(planned(replicas, "{all_reduce: {}, codec: {qsgd: {bucket: 1048576}}}"))
                           .starts_with(more) == (replicas >= 16),
                   replicas);
    const auto pushed = [&](const std::string& ratio) {
        return told(planned(
            2, "{parameter_server: {consistency: asp}, codec: {top_k: {ratio: " + ratio + "}}}"));
    };
    BOOST_TEST(pushed("1") == more + "stage 0 up to 10.4 MB instead of 5186.3 kB; remove "
                                     "topology.sync.codec, or choose another codec");
    BOOST_TEST(pushed("0.4") == "");
}

BOOST_AUTO_TEST_SUITE_END()
