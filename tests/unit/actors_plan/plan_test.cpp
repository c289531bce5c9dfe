// Where the stages of an app are placed.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <bit>
#include <sstream>

#include "actors/training/plan/plan.hpp"
#include "actors/training/plan/plan_json.hpp"
#include "schemas/base/random.hpp"
#include "tests/support/pipeline_app.hpp"
#include "tests/unit/actors_plan/plan_devices.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

training_app app_of(const std::vector<std::size_t>& layers) {
    return parse_training(pipeline_app("pipedream", layers, 1), "app.yaml").value();
}

// Stages of so many layers, each with the device that it names, or "".
training_app app_naming(const std::vector<std::size_t>& layers,
                        const std::vector<std::string>& devices) {
    std::string text = pipeline_app("pipedream", layers, 1);
    std::size_t at = 0;
    for (const std::string& device : devices) {
        at = text.find("}", text.find("{layers: ", at));
        if (!device.empty())
            text.insert(at, ", device: " + device);
    }
    return parse_training(text, "app.yaml").value();
}

// The number of the device of each stage.
std::vector<std::size_t> device_of(const plan& p) {
    std::vector<std::size_t> numbers;
    for (const planned_stage& stage : p.stages)
        numbers.push_back(stage.where[0].node.value() - 1);
    return numbers;
}

// The work of the busiest device, by its definition.
double busiest(const std::vector<double>& stage_ns, const std::vector<std::size_t>& devices) {
    std::vector<double> work(stage_ns.size());
    for (std::size_t s = 0; s < stage_ns.size(); ++s)
        work[devices[s]] += stage_ns[s];
    return *std::ranges::max_element(work);
}

// The least that the busiest of so many devices may have to do, each with neighbouring stages.
double best_by_enumeration(const std::vector<double>& stage_ns, std::size_t devices) {
    double best = 1e300;
    for (unsigned ends = 0; ends < 1u << (stage_ns.size() - 1); ++ends) { // bit s: after stage s
        if (static_cast<std::size_t>(std::popcount(ends)) + 1 != devices)
            continue;
        std::vector<std::size_t> numbers{0};
        for (std::size_t s = 0; s + 1 < stage_ns.size(); ++s)
            numbers.push_back(numbers.back() + (ends >> s & 1));
        best = std::min(best, busiest(stage_ns, numbers));
    }
    return best;
}

} // namespace

BOOST_AUTO_TEST_SUITE(plans)

BOOST_AUTO_TEST_CASE(where_stages_share_devices_the_busiest_has_as_little_to_do_as_can_be) {
    random_stream random{7};
    for (const std::vector<std::size_t>& cut :
         {std::vector<std::size_t>{2, 2, 2}, {1, 3, 1, 1}, {1, 1, 1, 2, 1}, {1, 1, 1, 1, 1, 1}}) {
        const training_app app = app_of(cut);
        for (int round = 0; round < 50; ++round) {
            std::vector<double> layer_ns;
            for (int l = 0; l < 6; ++l) // seconds: traffic, microseconds, decides between equals
                layer_ns.push_back(1e9 * static_cast<double>(random.below(20)));
            for (std::size_t devices = 1; devices <= cut.size(); ++devices) {
                const plan p = make_plan({app.app(), devices_of_nodes(devices), layer_ns}).value();
                std::vector<double> stage_ns;
                for (const planned_stage& stage : p.stages)
                    stage_ns.push_back(stage.needs.compute_ns);
                const auto numbers = device_of(p);
                BOOST_TEST(std::ranges::is_sorted(numbers)); // neighbours share
                BOOST_TEST(numbers.back() + 1 == devices);
                BOOST_TEST(busiest(stage_ns, numbers) == best_by_enumeration(stage_ns, devices));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(the_two_lightest_neighbours_of_three_share_a_device) {
    const training_app app = app_of({2, 2, 2});
    const auto planned = [&](std::vector<double> layer_ns) {
        return device_of(make_plan({app.app(), devices_of_nodes(2), std::move(layer_ns)}).value());
    };
    using numbers = std::vector<std::size_t>;
    BOOST_TEST(planned({5e9, 4e9, 1e9, 0, 1e9, 1e9}) == (numbers{0, 1, 1}),
               boost::test_tools::per_element());
    BOOST_TEST(planned({1e9, 1e9, 1e9, 0, 5e9, 4e9}) == (numbers{0, 0, 1}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(stages_that_are_spelled_out_are_measured_only_to_share_several_devices) {
    const training_app free = app_of({2, 2, 2});
    BOOST_TEST(!needs_layer_times(free.app(), devices_of_nodes(1)));
    BOOST_TEST(needs_layer_times(free.app(), devices_of_nodes(2)));
    BOOST_TEST(!needs_layer_times(free.app(), devices_of_nodes(3)));
}

BOOST_AUTO_TEST_CASE(a_stage_has_the_device_that_it_names_and_the_others_those_that_are_left) {
    struct {
        std::vector<std::string> named; // of three stages; "" names none
        std::size_t devices;
        std::vector<std::size_t> expected;
    } const cases[] = {
        {{"node-1/cpu:0", "node-1/cpu:0", "node-1/cpu:0"}, 2, {1, 1, 1}},
        {{"node-1/cpu:0", "", ""}, 3, {1, 0, 2}},
        {{"", "node-0/cpu:0", ""}, 3, {1, 0, 2}},
        {{"", "", "node-0/cpu:0"}, 3, {1, 2, 0}},
        {{"", "cpu:0", "node-2/cpu:0"}, 3, {1, 0, 2}}, // a device without a node is the first's
        {{"", "node-1/cpu:0", ""}, 2, {0, 1, 0}},      // one is left for both
        {{"node-1/cpu:0", "node-0/cpu:0", ""}, 2, {1, 0, 0}}, // none is left
    };
    for (const auto& c : cases) {
        const training_app app = app_naming({2, 2, 2}, c.named);
        const auto devices = devices_of_nodes(c.devices);
        BOOST_TEST(!needs_layer_times(app.app(), devices));
        const auto p = make_plan({app.app(), devices, {}});
        BOOST_REQUIRE(p.ok());
        BOOST_TEST(device_of(*p) == c.expected, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(stages_that_share_the_devices_left_do_so_by_their_times) {
    const training_app app = app_naming({1, 2, 1, 2}, {"", "node-1/cpu:0", "", ""});
    const auto planned = [&](std::vector<double> layer_ns) {
        return device_of(make_plan({app.app(), devices_of_nodes(3), std::move(layer_ns)}).value());
    };
    BOOST_TEST(needs_layer_times(app.app(), devices_of_nodes(3)));
    BOOST_TEST(!needs_layer_times(app.app(), devices_of_nodes(2)));
    BOOST_TEST(!needs_layer_times(app.app(), devices_of_nodes(4)));
    using numbers = std::vector<std::size_t>;
    BOOST_TEST(planned({5e9, 9e9, 9e9, 1e9, 1e9, 1e9}) == (numbers{0, 1, 2, 2}),
               boost::test_tools::per_element());
    BOOST_TEST(planned({1e9, 9e9, 9e9, 1e9, 5e9, 1e9}) == (numbers{0, 1, 0, 2}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_device_that_is_not_there_is_named_with_those_that_are) {
    const training_app app = app_naming({2, 2, 2}, {"", "node-7/cpu:0", ""});
    BOOST_TEST(!needs_layer_times(app.app(), devices_of_nodes(2)));
    BOOST_TEST(
        make_plan({app.app(), devices_of_nodes(2), {}}).failure().message() ==
        "topology.pipeline.stages[1].device: no device 'node-7/cpu:0'; there are: node-0/cpu:0, "
        "node-1/cpu:0");
}

BOOST_AUTO_TEST_CASE(minibatches_that_grow_are_planned_for_at_their_largest) {
    const auto planned = [](const std::string& more) {
        const std::string text = pipeline_app("pipedream", {3, 3}, 3, default_optimizer, more);
        return make_plan({parse_training(text, "app.yaml").value().app(), devices_of_nodes(2), {}})
            .value();
    };
    const plan fixed = planned("");
    BOOST_TEST(fixed.shape.batch_max == 8u);
    BOOST_TEST(fixed.source.input_bytes == 8 * 36 * 4u);
    BOOST_TEST(describe(fixed).find("grow") == std::string::npos);
    const plan growing = planned("batch_growth: {every_epochs: 1, maximum: 20}");
    BOOST_TEST(growing.shape.batch == 8u);
    BOOST_TEST(growing.shape.batch_max == 20u);
    BOOST_TEST(growing.source.input_bytes == 20 * 36 * 4u);
    BOOST_TEST(growing.source.label_bytes == 20 * 4u);
    BOOST_TEST(growing.stages[0].traffic.activation_bytes * 8 ==
               fixed.stages[0].traffic.activation_bytes * 20);
    BOOST_TEST(
        describe(growing).find("minibatches of 8, growing to 20: what follows is of these") !=
        std::string::npos);
    // An epoch for each size is not there.
    BOOST_TEST(planned("batch_growth: {every_epochs: 2, maximum: 20}").shape.batch_max == 16u);
}

BOOST_AUTO_TEST_CASE(a_plan_says_how_the_learning_rate_goes) {
    const auto rate_by = [](const std::string& schedule, const std::string& warmup = "0") {
        const app_settings settings{"train.schedule=" + schedule,
                                    "train.warmup_minibatches=" + warmup};
        const auto app =
            parse_training(pipeline_app("pipedream", {3, 3}, 3), "app.yaml", settings).value();
        const plan p = make_plan({app.app(), devices_of_nodes(2), {}}).value();
        BOOST_TEST(describe(p).find("\n" + describe(p.rate) + "\n") != std::string::npos);
        return std::pair{describe(p.rate), to_json(p)["learning_rate"].dump()};
    };
    const auto compare = [](const std::pair<std::string, std::string>& made, const char* words,
                            const char* json) {
        BOOST_TEST(made.first == words);
        BOOST_TEST(made.second == json);
    };
    compare(rate_by("constant"), "learning rate 0.05",
            R"({"full":0.05,"warmup_minibatches":0,"schedule":"constant","last":0.05})");
    compare(rate_by("{cosine: {final_factor: 0.5}}", "7"),
            "learning rate 0.05 after 7 minibatches of warm-up, down to 0.025 with the run's last "
            "minibatch by cosine",
            R"({"full":0.05,"warmup_minibatches":7,"schedule":"cosine","last":0.025})");
    compare(rate_by("{polynomial: {}}", "1"),
            "learning rate 0.05 after 1 minibatch of warm-up, down to 0 with the run's last "
            "minibatch by polynomial",
            R"({"full":0.05,"warmup_minibatches":1,"schedule":"polynomial","last":0.0})");
    compare(rate_by("{polynomial: {power: 0}}"), "learning rate 0.05",
            R"({"full":0.05,"warmup_minibatches":0,"schedule":"polynomial","last":0.05})");
    compare(
        rate_by("{step: {every_epochs: 3, factor: 0.1}}"),
        "learning rate 0.05, times 0.1 after every 3 epochs",
        R"({"full":0.05,"warmup_minibatches":0,"schedule":"step","every_epochs":3,"factor":0.1})");
    BOOST_TEST(rate_by("{step: {every_epochs: 1}}").first ==
               "learning rate 0.05, times 0.1 after every epoch");
}

BOOST_AUTO_TEST_CASE(a_plan_says_when_products_are_rounded) {
    const auto described = [](const std::vector<std::string>& set) {
        const std::string text = pipeline_app("pipedream", {3, 3}, 3);
        const auto app = parse_training(text, "app.yaml", set).value();
        return describe(make_plan({app.app(), devices_of_nodes(2), {}}).value());
    };
    BOOST_TEST(described({}).find("bf16") == std::string::npos);
    for (const std::string precision : {"bf16", "f16"})
        BOOST_TEST(described({"model.precision=" + precision})
                       .find("minibatches of 8; products in " + precision + "\n") !=
                   std::string::npos);
}

namespace {

// A language model of three repeated blocks, on a pipeline of these keys.
plan repeating(const std::string& pipeline, std::size_t devices) {
    const std::string text =
        "troupe: 1\n"
        "data: {synthetic: {train_samples: 32, vocabulary: 11, next_token: true}}\n"
        "model:\n  input: [6]\n  layers:\n"
        "    - embedding: {vocabulary: 11, width: 8}\n"
        "    - repeat:\n        times: 3\n        layers:\n"
        "          - residual: {layers: [layer_norm, {repeat: {times: 4, layers: [gelu]}}]}\n"
        "          - linear: {out: 8}\n"
        "    - linear: {out: 11}\n"
        "train: {batch: 4, optimizer: {adam: {learning_rate: 0.1}}}\n"
        "topology: {pipeline: {" +
        pipeline + "}}\n";
    return make_plan(
               {parse_training(text, "app.yaml").value().app(), devices_of_nodes(devices), {}})
        .value();
}

// The first two words of each line of the table, and what else is asked of them.
std::vector<std::string> first_words(const std::string& table) {
    std::vector<std::string> lines;
    std::istringstream in{table.substr(table.find("\n\n") + 2)};
    for (std::string line, number, word; std::getline(in, line);) {
        std::istringstream words{line};
        words >> number >> word;
        lines.push_back(number + " " + word);
    }
    return lines;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_layers_are_listed_as_stages_count_them_and_blocks_that_repeat_once) {
    using lines = std::vector<std::string>;
    const plan one = repeating("stages: 1", 1);
    BOOST_TEST(one.layers.size() == 23u);
    BOOST_TEST(one.layers[8].key == "layers[1].repeat.layers[0].residual.layers[0]");
    BOOST_TEST(one.layers[8].name == "layers.1.1.0.layers.0 layer_norm");
    const std::string block = "layers[1].repeat.layers[0].residual.layers";
    BOOST_TEST(first_words(describe_layers(one, false)) ==
                   (lines{"layer output", "0 layers[0]", "1 " + block + "[0]",
                          "2 " + block + "[1].repeat.layers[0]", "3..5 the",
                          "6 layers[1].repeat.layers[0]", "7 layers[1].repeat.layers[1]",
                          "8..21 the", "22 layers[2]"}),
               boost::test_tools::per_element());
    BOOST_TEST(first_words(describe_layers(one, true)).size() == 24u);
    // A cut in the middle of a repetition: what is left of it is listed, and what is whole stands once.
    const plan cut = repeating("stages: [{layers: 3}, {layers: 20}]", 2);
    BOOST_TEST(first_words(describe_layers(cut, false)) ==
                   (lines{"layer output", "stage 0", "0 layers[0]", "1 " + block + "[0]",
                          "2 " + block + "[1].repeat.layers[0]", "stage 1",
                          "3 " + block + "[1].repeat.layers[0]", "4..5 the",
                          "6 layers[1].repeat.layers[0]", "7 layers[1].repeat.layers[1]",
                          "8 " + block + "[0]", "9 " + block + "[1].repeat.layers[0]", "10..16 the",
                          "17 " + block + "[1].repeat.layers[0]", "18..19 the",
                          "20 layers[1].repeat.layers[0]", "21 layers[1].repeat.layers[1]",
                          "22 layers[2]"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(stages_add_up_what_their_layers_take_and_keep) {
    const plan p = repeating("stages: [{layers: 15}, {layers: 8}]", 2);
    for (const planned_stage& s : p.stages) {
        planned_layer sum;
        for (std::size_t l = s.layers.range.first; l < s.layers.range.first + s.layers.range.count;
             ++l) {
            sum.parameters += p.layers[l].parameters;
            sum.forward_flops += p.layers[l].forward_flops;
            sum.backward_flops += p.layers[l].backward_flops;
            sum.kept_bytes += p.layers[l].kept_bytes;
        }
        BOOST_TEST(s.needs.parameters == sum.parameters);
        BOOST_TEST(s.needs.parameter_bytes == 4 * sum.parameters);
        BOOST_TEST(s.needs.forward_flops == sum.forward_flops);
        BOOST_TEST(s.needs.backward_flops == sum.backward_flops);
        // Stage 0 has two minibatches in flight, each with the weights that it went forward with; adam keeps two numbers
        // for each weight of the latest, and a pass back gives one.
        const std::uint64_t in_flight = s.layers.range.first == 0 ? 2 : 1;
        BOOST_TEST(s.needs.kept_bytes == in_flight * sum.kept_bytes);
        BOOST_TEST(s.needs.weight_bytes == (in_flight + 3) * 4 * sum.parameters);
    }
    BOOST_TEST(p.layers[14].crossing_bytes ==
               p.stages[0].traffic.activation_bytes + p.stages[0].traffic.gradient_bytes);
    const stage_needs total = total_of(p.stages);
    BOOST_TEST(total.parameters == p.stages[0].needs.parameters + p.stages[1].needs.parameters);
    BOOST_TEST(total.kept_bytes == p.stages[0].needs.kept_bytes + p.stages[1].needs.kept_bytes);
    // Microbatches in flight are parts of one minibatch, which is computed with one version.
    const plan cut =
        repeating("schedule: gpipe, microbatches: 2, stages: [{layers: 15}, {layers: 8}]", 2);
    BOOST_TEST(cut.stages[0].in_flight_max == 2u);
    BOOST_TEST(cut.stages[0].needs.kept_bytes * 2 == p.stages[0].needs.kept_bytes);
    // There are the gradients of one microbatch beside the sum of those before it.
    BOOST_TEST(cut.stages[0].needs.weight_bytes == 5 * 4 * cut.stages[0].needs.parameters);
}

BOOST_AUTO_TEST_CASE(numbers_too_large_for_any_machine_do_not_wrap) {
    const std::string text = "troupe: 1\n"
                             "data: {synthetic: {train_samples: 2000000, classes: 2}}\n"
                             "model:\n  input: [4096, 1024, 1024]\n  layers:\n"
                             "    - conv2d: {out: 4096, kernel: 1}\n"
                             "    - repeat: {times: 1025, layers: [tanh]}\n"
                             "    - global_average_pool\n    - linear: {out: 2}\n"
                             "train: {batch: 1048576, optimizer: {sgd: {learning_rate: 0.1}}}\n";
    const plan p =
        make_plan({parse_training(text, "app.yaml").value().app(), devices_of_nodes(1), {}})
            .value();
    BOOST_TEST(p.layers[1].kept_bytes == 1ull << 54);
    BOOST_TEST(p.stages[0].needs.kept_bytes == UINT64_MAX);
    const planned_stage twice[] = {p.stages[0], p.stages[0]};
    BOOST_TEST(total_of(twice).kept_bytes == UINT64_MAX);
    plan larger = p;
    const auto forward_text = [&](double flops) {
        larger.stages[0].needs.forward_flops = flops;
        const std::string all = describe(larger);
        const std::size_t at = all.find("a minibatch takes ") + 18;
        return all.substr(at, all.find(" forward", at) - at);
    };
    BOOST_TEST(forward_text(2e22) == "20.0 ZFLOP");
    BOOST_TEST(forward_text(2e25) == "20.0 YFLOP");
    BOOST_TEST(forward_text(1e33) == "1000000000.0 YFLOP");
    BOOST_TEST(describe_layers(p, false).find("18.4 EB") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(one_device_is_called_that) {
    const std::string text = pipeline_app("pipedream", {6}, 1);
    const auto planned = [](const std::string& app) {
        return describe(
            make_plan({parse_training(app, "app.yaml").value().app(), devices_of_nodes(1), {}})
                .value());
    };
    BOOST_TEST(planned(text).starts_with("pipedream, 1 stage, minibatches of 8\n"));
    BOOST_TEST(planned(text.substr(0, text.find("topology")))
                   .starts_with("the whole model on one device, minibatches of 8\n"));
}

BOOST_AUTO_TEST_CASE(a_stage_whose_checkpoint_no_message_holds_is_refused_before_anything_runs) {
    const auto planned = [](std::size_t layers, const std::string& layer, const std::string& rest) {
        std::string text = "troupe: 1\n"
                           "data: {synthetic: {train_samples: 8, classes: 2}}\n"
                           "model:\n  input: [1, 1, 1]\n  layers:\n";
        for (std::size_t l = 0; l < layers; ++l)
            text += "    - linear: {out: " + layer + "}\n";
        text += "    - linear: {out: 2}\n"
                "train: {batch: 8, optimizer: {sgd: {learning_rate: 0.1, momentum: 0.9}}}\n" +
                rest;
        return make_plan({parse_training(text, "app.yaml").value().app(), devices_of_nodes(1), {}});
    };
    const std::string checkpoint = "checkpoint: {directory: unused}\n";
    const std::string two = "topology: {pipeline: {stages: [{layers: 512}, {layers: 513}]}}\n";
    BOOST_TEST(planned(1023, "1", checkpoint).ok()); // two tensors a layer, and their momentum
    const auto many = planned(1024, "1", checkpoint);
    BOOST_TEST_REQUIRE(!many.ok());
    BOOST_TEST((many.failure().code() == errc::usage));
    BOOST_TEST(many.failure().message() ==
               "stage 0 (layers.0 linear .. layers.1024 linear) has 4100 weight tensors of 262400 "
               "bytes with the optimizer's state; the message that a checkpoint needs holds 4096 "
               "tensors and 4294967296 bytes; use more stages (topology.pipeline.stages), or leave "
               "out checkpoint");
    BOOST_TEST(planned(1024, "1", "").ok());
    BOOST_TEST(planned(1024, "1", checkpoint + two).ok());
    BOOST_TEST(planned(2, "20000", checkpoint).ok());
    BOOST_TEST(!planned(3, "20000", checkpoint).ok()); // 3.2 GB of weights, and their momentum
}

BOOST_AUTO_TEST_SUITE_END()
