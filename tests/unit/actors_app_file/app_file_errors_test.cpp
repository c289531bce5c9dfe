// What a wrong app file gives: one line that says where and what.
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>

#include "actors/training/plan/training_app.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/random.hpp"

using namespace troupe;

namespace {

const std::string data_line = "data: {synthetic: {}}\n";
const std::string model_lines = "model: {input: [4], layers: [relu, {linear: {out: 10}}]}\n";
const std::string train_line = "train: {batch: 16, optimizer: {sgd: {learning_rate: 0.1}}}\n";

std::string message(const std::string& text, const app_settings& settings = {}) {
    const auto parsed = parse_training(text, "app.yaml", settings);
    if (parsed.ok())
        return "accepted";
    BOOST_TEST((parsed.failure().code() == errc::usage));
    BOOST_TEST(parsed.failure().message().find('\n') == std::string::npos);
    return parsed.failure().message();
}

std::string with_data(const std::string& line) {
    return message("troupe: 1\n" + line + "\n" + model_lines + train_line);
}
std::string with_model(const std::string& line) {
    return message("troupe: 1\n" + line + "\n" + data_line + train_line);
}
std::string with_train(const std::string& line) {
    return message("troupe: 1\n" + line + "\n" + data_line + model_lines);
}
std::string with(const std::string& line, const app_settings& settings = {}) {
    return message("troupe: 1\n" + line + "\n" + data_line + model_lines + train_line, settings);
}

} // namespace

BOOST_AUTO_TEST_SUITE(app_file_errors)

BOOST_AUTO_TEST_CASE(the_file_that_the_cases_start_from_is_right) {
    BOOST_TEST(with("") == "accepted");
}

BOOST_AUTO_TEST_CASE(unknown_keys_come_with_the_nearest_valid_one) {
    BOOST_TEST(
        with_model("model: {input: [4], layers: [{conv2d: {out: 1, kernal: 3}}]}") ==
        "app.yaml:2:48: model.layers[0].conv2d.kernal: unknown key; did you mean \"kernel\"?");
    BOOST_TEST(with_train("train: {bacth: 16}") ==
               "app.yaml:2:9: train.bacth: unknown key; did you mean \"batch\"?");
    BOOST_TEST(with("frobnicate: 1") ==
               "app.yaml:2:1: frobnicate: unknown key; expected troupe, data, model, train, "
               "topology, checkpoint or base");
    BOOST_TEST(with_train("train: {learningRate: 1}")
                   .find("app.yaml:2:9: train.learningRate: unknown key") == 0u);
    BOOST_TEST(with("\"a\\nb\": 1").find("app.yaml:2:1: a\\x0ab: unknown key") == 0u);
}

BOOST_AUTO_TEST_CASE(capital_letters_are_no_mistakes_beside_others) {
    BOOST_TEST(with_train("train: {batch: 1, optimizer: {AdamW: {learning_rate: 1}}}") ==
               "app.yaml:2:31: train.optimizer.AdamW: unknown key; did you mean \"adamw\"?");
    BOOST_TEST(with_model("model: {input: [4], layers: [RELU]}") ==
               "app.yaml:2:30: model.layers[0]: unknown word \"RELU\"; did you mean \"relu\"?");
}

BOOST_AUTO_TEST_CASE(repeated_keys_are_refused) {
    BOOST_TEST(with_train("train: {batch: 16,\n  batch: 17}") ==
               "app.yaml:3:3: train.batch: repeated key; it stands at app.yaml:2:9 already");
    BOOST_TEST(with("train: {batch: 1, optimizer: {sgd: {learning_rate: 1}}}") ==
               "app.yaml:5:1: train: repeated key; it stands at app.yaml:2:1 already");
}

BOOST_AUTO_TEST_CASE(missing_keys_are_named_with_their_meaning) {
    BOOST_TEST(with_train("train: {batch: 16}") ==
               "app.yaml:2:8: train: missing key \"optimizer\": Update rule.");
    BOOST_TEST(message(data_line + model_lines + train_line) ==
               "app.yaml:1:1: missing key \"troupe\": Version of the app file format. This build "
               "reads 1.");
    BOOST_TEST(
        message("") ==
        "app.yaml: empty; it needs troupe, data, model, train, topology, checkpoint or base");
    BOOST_TEST(
        message("# nothing\n") ==
        "app.yaml: empty; it needs troupe, data, model, train, topology, checkpoint or base");
}

BOOST_AUTO_TEST_CASE(wrong_kinds_are_refused) {
    const auto batch = [](const std::string& value) {
        return with_train("train: {batch: " + value + ", optimizer: {sgd: {learning_rate: 0.1}}}");
    };
    BOOST_TEST(batch("many") == "app.yaml:2:16: train.batch: must be a whole number, not \"many\"");
    BOOST_TEST(batch("1.5") == "app.yaml:2:16: train.batch: must be a whole number, not \"1.5\"");
    BOOST_TEST(batch("1e3") == "app.yaml:2:16: train.batch: must be a whole number, not \"1e3\"");
    BOOST_TEST(batch("010") == "app.yaml:2:16: train.batch: must be a whole number, not \"010\"");
    BOOST_TEST(batch("0x10") == "app.yaml:2:16: train.batch: must be a whole number, not \"0x10\"");
    BOOST_TEST(batch("'16'") ==
               "app.yaml:2:16: train.batch: must be a whole number, not the text \"16\"");
    BOOST_TEST(batch("[16]") == "app.yaml:2:16: train.batch: must be a whole number, not a list");
    BOOST_TEST(batch("{a: 16}") == "app.yaml:2:16: train.batch: must be a whole number, not a map");
    BOOST_TEST(batch("") == "app.yaml:2:16: train.batch: has no value");
    BOOST_TEST(batch("~") == "app.yaml:2:16: train.batch: has no value");
    BOOST_TEST(with("train") == "app.yaml:3:5: not valid YAML: illegal map value");
    BOOST_TEST(message("- 1") == "app.yaml:1:1: must be a map with troupe, data, model, train, "
                                 "topology, checkpoint or base, not a list");
    BOOST_TEST(with_train("train: [1]") ==
               "app.yaml:2:8: train: must be a map with batch, epochs, "
               "seed, optimizer, schedule, shuffle, warmup_minibatches, clip or batch_growth, not "
               "a list");
    BOOST_TEST(with_model("model: {input: 4, layers: [relu]}") ==
               "app.yaml:2:16: model.input: must be a list, not \"4\"");
    BOOST_TEST(with("checkpoint: {directory: [a]}") ==
               "app.yaml:2:25: checkpoint.directory: must be a text, not a list");
    BOOST_TEST(with("checkpoint: {directory: ''}") ==
               "app.yaml:2:25: checkpoint.directory: must not be empty");
    BOOST_TEST(with("checkpoint: {directory: \"a\\u202eb\"}")
                   .ends_with("must not contain line breaks or other control characters"));
    BOOST_TEST(with("base: a\tb.yaml") ==
               "app.yaml:2:7: base: must not contain line breaks or other control characters");
    BOOST_TEST(with("checkpoint: {directory: \"a\\nb\"}") ==
               "app.yaml:2:25: checkpoint.directory: must not contain line breaks or other control "
               "characters");
    BOOST_TEST(with("", {"train.shuffle=yes"}) ==
               "--set train.shuffle: must be true or false, not \"yes\"");
    for (const char* rate : {".nan", "nan", ".inf", "inf", "0x1p3", "1,5", "'1'", "1 2"})
        BOOST_TEST(with("", {"train.optimizer.sgd.learning_rate=" + std::string{rate}}) !=
                       "accepted",
                   rate);
}

BOOST_AUTO_TEST_CASE(values_out_of_range_are_refused_with_the_range) {
    const auto batch = [](const std::string& value) {
        return with_train("train: {batch: " + value + ", optimizer: {sgd: {learning_rate: 0.1}}}");
    };
    for (const std::string value : {"0", "-3", "1048577", "4294967297", "99999999999999999999999"})
        BOOST_TEST(batch(value) ==
                   "app.yaml:2:16: train.batch: must be 1 to 1048576, not \"" + value + "\"");
    BOOST_TEST(with("", {"train.seed=-1"}) ==
               "--set train.seed: must be 0 to 18446744073709551615, not \"-1\"");
    BOOST_TEST(with("", {"train.seed=18446744073709551616"}) ==
               "--set train.seed: must be 0 to 18446744073709551615, not "
               "\"18446744073709551616\"");
    BOOST_TEST(
        with("", {"train.optimizer.sgd.momentum=1"}).find("must be 0 to 0.99999, not \"1\"") !=
        std::string::npos);
    BOOST_TEST(with("", {"train.optimizer.sgd.momentum=1e999"}).find("must be 0 to 0.99999") !=
               std::string::npos);
    const std::string rate = "schedule={polynomial: {power: 101}}";
    BOOST_TEST(
        with("", {"train.schedule={polynomial: {power: 101}}"}) ==
        "--set train.schedule: train.schedule.polynomial.power: must be 0 to 100, not \"101\"");
    BOOST_TEST(with("", {"train.warmup_minibatches=-1"}) ==
               "--set train.warmup_minibatches: must be 0 to 1000000000, not \"-1\"");
    BOOST_TEST(with("", {"train.clip={norm: 0}"}) ==
               "--set train.clip: train.clip.norm: must be 1e-06 to 1000000, not \"0\"");
    BOOST_TEST(with("", {"train.batch_growth={every_epochs: 1, maximum: 8}"}) ==
               "--set train.batch_growth: train.batch_growth.maximum: 8 samples are fewer than "
               "train.batch, 16, from which minibatches grow");
    BOOST_TEST(with("", {"train.batch_growth={every_epochs: 1, maximum: 16}"}) == "accepted");
    BOOST_TEST(with("", {"troupe=2"}) == "--set troupe: this build reads version 1, not \"2\"");
    BOOST_TEST(with_model("model: {input: [], layers: [relu]}") ==
               "app.yaml:2:16: model.input: must have 1 to 7 elements, not 0");
    BOOST_TEST(with_model("model: {input: [1,2,3,4,5,6,7,8], layers: [relu]}") ==
               "app.yaml:2:16: model.input: must have 1 to 7 elements, not 8");
    BOOST_TEST(with_model("model: {input: [3, 0], layers: [relu]}") ==
               "app.yaml:2:20: model.input[1]: must be 1 to 1000000, not \"0\"");
    BOOST_TEST(with_model("model: {input: [4], layers: []}") ==
               "app.yaml:2:29: model.layers: must have 1 to 4096 elements, not 0");
    BOOST_TEST(with("checkpoint: {directory: /" + std::string(5000, 'a') + "}") ==
               "app.yaml:2:25: checkpoint.directory: longer than 4096 bytes");
}

BOOST_AUTO_TEST_CASE(unions_take_exactly_one_member) {
    BOOST_TEST(with_data("data: {synthetic: {},\n idx: {}}") ==
               "app.yaml:3:2: data.idx: conflicts with \"synthetic\" at app.yaml:2:8; give exactly "
               "one of idx, synthetic, npy, cifar, text or translation");
    BOOST_TEST(with_data("data: {}") == "app.yaml:2:7: data: empty; give exactly one of idx, "
                                        "synthetic, npy, cifar, text or translation");
    BOOST_TEST(
        with("topology: {sync: {codec: int8}}")
            .starts_with(
                "app.yaml:2:18: topology.sync: incomplete; give exactly one of all_reduce, "));
    BOOST_TEST(with_data("data: sinthetic") ==
               "app.yaml:2:7: data: unknown word \"sinthetic\"; did you mean \"synthetic\"?");
    BOOST_TEST(with_data("data: idx") ==
               "app.yaml:2:7: data: \"idx\" needs settings; write it as a key, {idx: {...}}");
    BOOST_TEST(with_model("model: {input: [4], layers: [rleu]}") ==
               "app.yaml:2:30: model.layers[0]: unknown word \"rleu\"; did you mean \"relu\"?");
    BOOST_TEST(with_model("model: {input: [4], layers: [{relu: {a: 1}}]}") ==
               "app.yaml:2:37: model.layers[0].relu: takes no settings, but got a map");
    BOOST_TEST(with_data("data: [synthetic]") ==
               "app.yaml:2:7: data: must be a map with idx, synthetic, target, npy, cifar, text, "
               "images, translation or origin, "
               "not a list");
    BOOST_TEST(
        with("", {"train.clip={norm: 1, value: 1}"}).find("exactly one of none, value or norm") !=
        std::string::npos);
    BOOST_TEST(with("topology: {pipeline: {stages: atuo}}") ==
               "app.yaml:2:31: topology.pipeline.stages: must be \"auto\", a whole number or a "
               "list, not \"atuo\"");
    BOOST_TEST(with("topology: {pipeline: {stages: {auto: }}}") ==
               "app.yaml:2:31: topology.pipeline.stages: must be \"auto\", a whole number or a "
               "list, not a map");
    BOOST_TEST(with("topology: {pipeline: {stages: 0}}") ==
               "app.yaml:2:31: topology.pipeline.stages: must be 1 to 256, not \"0\"");
    BOOST_TEST(with("topology: {pipeline: {stages: -1}}") ==
               "app.yaml:2:31: topology.pipeline.stages: must be 1 to 256, not \"-1\"");
    BOOST_TEST(with("topology: {pipeline: {schedule: pipdream}}") ==
               "app.yaml:2:33: topology.pipeline.schedule: unknown word \"pipdream\"; did you mean "
               "\"pipedream\"?");
}

BOOST_AUTO_TEST_CASE(layers_that_do_not_fit_each_other_are_refused_at_the_layer) {
    const auto layers = [](const std::string& list) {
        return with_model("model: {input: [1, 8, 8], layers: [" + list + "]}");
    };
    BOOST_TEST(layers("{linear: {out: 10}}, {conv2d: {out: 1, kernel: 3}}") ==
               "app.yaml:2:66: model.layers[1].conv2d: needs an input of [channels, height, "
               "width], but gets [10]");
    BOOST_TEST(layers("{conv2d: {out: 1, kernel: 9}}")
                   .find("app.yaml:2:45: model.layers[0].conv2d: kernel 9x9 is larger") == 0u);
    BOOST_TEST(layers("relu").find(
                   "app.yaml:2:36: model.layers[0].relu: the last layer gives [1, 8, 8]") == 0u);
    BOOST_TEST(
        with_model("model: {input: [1000000, 1000000, 1000000], layers: [{linear: {out: 2}}]}")
            .find("app.yaml:2:16: model.input: ") == 0u);
    const std::string embedding = "{embedding: {vocabulary: 9, width: 4}}";
    BOOST_TEST(
        with_model(
            "model: {input: [12], layers: [{encoder_decoder: {source_length: 8,\n  encoder: [" +
            embedding + "],\n  decoder: [" + embedding + "]}}]}") ==
        "app.yaml:4:12: model.layers[0].encoder_decoder.decoder: reads nothing of the encoder; it "
        "needs attention_gru");
}

BOOST_AUTO_TEST_CASE(stages_must_fit_the_model_and_microbatches_the_batch) {
    BOOST_TEST(with("topology: {pipeline: {stages: 3}}") ==
               "app.yaml:2:31: topology.pipeline.stages: 3 stages for 2 layers; every stage needs "
               "at least one layer");
    BOOST_TEST(with("topology: {pipeline: {stages: [{layers: 1}, {layers: 1}, {layers: 1}]}}") ==
               "app.yaml:2:31: topology.pipeline.stages: 3 stages for 2 layers; every stage needs "
               "at least one layer");
    BOOST_TEST(
        with("topology: {pipeline: {stages: [{layers: 2}, {layers: 1}]}}") ==
        "app.yaml:2:31: topology.pipeline.stages: the stages hold 3 layers, but the model has 2");
    BOOST_TEST(with("topology: {pipeline: {schedule: gpipe, microbatches: 17}}") ==
               "app.yaml:2:54: topology.pipeline.microbatches: 17 microbatches of a batch of 16 "
               "samples; every "
               "microbatch needs at least one sample");
    BOOST_TEST(
        with("topology: {pipeline: {schedule: gpipe}}", {"train.batch=2"})
            .find("topology.pipeline.microbatches: 4 microbatches of a batch of 2 samples") !=
        std::string::npos);
    BOOST_TEST(with("topology: {pipeline: {schedule: pipedream, microbatches: 17}}") == "accepted");
}

BOOST_AUTO_TEST_CASE(replicas_of_a_stage_alone_are_for_pipelines_that_do_not_wait) {
    const auto stages = [](const std::string& replicas, const std::string& more = "") {
        return with("topology: {pipeline: {stages: [{layers: 1, replicas: " + replicas + "}]" +
                    more + "}}");
    };
    const std::string key = "topology.pipeline.stages[0].replicas: ";
    BOOST_TEST(stages("2}, {layers: 1") == "accepted");
    BOOST_TEST(stages("2}, {layers: 1, replicas: 2")
                   .find(key + "all stages have as many; say topology.replicas: 2") !=
               std::string::npos);
    BOOST_TEST(stages("2}, {layers: 1", ", schedule: gpipe").find(key + "stages with different") !=
               std::string::npos);
    BOOST_TEST(stages("2}, {layers: 1", "}, replicas: 2, sync: {all_reduce: {}")
                   .find(key + "the whole pipeline has replicas already") != std::string::npos);
    BOOST_TEST(stages("2}, {layers: 1", "}, sync: {parameter_server: {}")
                   .find(key + "the replicas of a stage alone average their gradients") !=
               std::string::npos);
    BOOST_TEST(stages("0").find("must be 1 to 64") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(yaml_that_could_grow_or_deceive_is_refused) {
    BOOST_TEST(with("topology: &t single") ==
               "app.yaml:2:11: anchors (&name) are not allowed; write the value out");
    BOOST_TEST(with("a: &x [1, 1]\nb: [*x, *x]").find("app.yaml:2:") == 0u);
    BOOST_TEST(with("topology: *t").find("app.yaml:2:11: ") == 0u);
    BOOST_TEST(with("topology: !!str single") == "app.yaml:2:11: tags (!name) are not allowed");
    BOOST_TEST(with("[1]: 2") == "app.yaml:2:1: a key must be a word");
    BOOST_TEST(with("~: 2") == "app.yaml:2:1: a key must be a word");
    BOOST_TEST(with("", {}) == "accepted");
    BOOST_TEST(message("troupe: 1\n---\ntroupe: 1\n").find("a second YAML document starts here") !=
               std::string::npos);
    BOOST_TEST(message("troupe: [").find("app.yaml:") == 0u);
    BOOST_TEST(message("troupe: \"1\"") ==
               "app.yaml:1:9: troupe: must be a whole number, not the text \"1\"");
    BOOST_TEST(message("troupe: 1\nx: \x01\n") ==
               "app.yaml:2:4: not text: a byte that is no printable UTF-8");
    BOOST_TEST(message("troupe: \xff\n") ==
               "app.yaml:1:9: not text: a byte that is no printable UTF-8");
    BOOST_TEST(message(std::string{"troupe: 1\0", 10}) ==
               "app.yaml:1:10: not text: a byte that is no printable UTF-8");
    BOOST_TEST(message(std::string(limits::app_file_bytes_max + 1, ' ')) ==
               "app.yaml: larger than 1048576 bytes");
}

BOOST_AUTO_TEST_CASE(hostile_nesting_ends_soon) {
    for (const std::string piece : {"[", "{", "- ", "? ", "{a: ", "[[],", "!", "&", "*", "\"", "'",
                                    "|\n", "a: ", "%", "a:\n "}) {
        std::string text;
        while (text.size() + piece.size() <= 200'000)
            text += piece;
        BOOST_TEST(message(text) != "accepted", piece);
    }
    std::string deep;
    for (int i = 0; i < 100; ++i)
        deep += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
    BOOST_TEST(message(deep).find("more than 96 lists and maps inside each other") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(blocks_in_blocks_are_counted_as_blocks) {
    const auto nested = [](const std::string& before, const std::string& after, int depth) {
        std::string text = "{linear: {out: 10}}";
        for (int i = 0; i < depth; ++i)
            text = before + text + after;
        return with_model("model: {input: [10], layers: [" + text + "]}");
    };
    for (const auto& [before, after] :
         {std::pair<std::string, std::string>{"{residual: {layers: [", "]}}"},
          {"{recompute: {layers: [", "]}}"},
          {"{concat: {branches: [{layers: [", "]}]}}"}}) {
        BOOST_TEST(nested(before, after, 16) == "accepted");
        BOOST_TEST(nested(before, after, 17).find("blocks stand in blocks more than 16 deep") !=
                   std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(settings_that_do_not_fit_name_themselves) {
    BOOST_TEST(with("", {"train.bacth=1"}) ==
               "--set train.bacth: unknown key; did you mean \"batch\"?");
    BOOST_TEST(with("", {"train={bacth: 1}"}) ==
               "--set train: train.bacth: unknown key; did you mean \"batch\"?");
    BOOST_TEST(with("", {"train"}) == "--set train: needs a value, as in --set train.epochs=3");
    BOOST_TEST(with("", {"=1"}) == "--set : not a key; write it as in model.layers[0].linear.out");
    for (const std::string key : {"a..b", ".a", "a.", "a[", "a[x]", "a[1", "a]", "a[1]b", "[0]",
                                  "a[-1]", "a[99999999999999999999]"})
        BOOST_TEST(with("", {key + "=1"}) ==
                   "--set " + key + ": not a key; write it as in model.layers[0].linear.out");
    BOOST_TEST(with("", {"model.layers[2]=relu"}) ==
               "--set model.layers[2]: index 2 into a list of 2 (counted from 0)");
    BOOST_TEST(
        with("", {"model.layers.first=relu"}) ==
        "--set model.layers.first: key \"first\" into a list; give an index, as in layers[0]");
    BOOST_TEST(with("", {"train[0]=1"}) == "--set train[0]: index 0 into a map, which is no list");
    BOOST_TEST(with("", {"train.batch=[1"}).find("--set train.batch: ") == 0u);
    BOOST_TEST(with("", {"train=null"}).find("app.yaml:1:1: missing key \"train\"") == 0u);
    BOOST_TEST(with("", {"train.batch=&a 3"}).find("--set train.batch: anchors") == 0u);
}

BOOST_AUTO_TEST_CASE(files_that_cannot_be_read_are_named) {
    const auto message_of = [](const char* file) {
        return load_training(file).failure().message();
    };
    BOOST_TEST(message_of("/nonexistent/app.yaml") == "/nonexistent/app.yaml: no such app file");
    BOOST_TEST(message_of("/tmp") == "/tmp: a folder, not an app file");
    BOOST_TEST(message_of("/dev/zero") == "/dev/zero: larger than 1048576 bytes");
}

// Whatever bytes come, the loader answers.
BOOST_AUTO_TEST_CASE(mutated_files_never_crash_the_loader) {
    const std::string whole =
        "troupe: 1\n" + data_line +
        "model:\n  input: [1, 8, 8]\n  layers:\n    - conv2d: {out: 4, kernel: 3}\n"
        "    - relu\n    - linear: {out: 10}\n" +
        train_line + "topology:\n  pipeline: {stages: [{layers: 1}, {layers: 2}]}\n";
    random_stream random{7};
    std::size_t accepted = 0;
    for (int round = 0; round < 4000; ++round) {
        std::string text = whole;
        for (std::uint64_t edits = 1 + random.below(4); edits > 0; --edits) {
            const std::size_t at = random.below(text.size());
            static constexpr std::string_view bytes = " \n:-{}[]&*!|>'\"%@`,#?~01a\xc3\x80";
            switch (random.below(3)) {
            case 0:
                text.erase(at, 1 + random.below(5));
                break;
            case 1:
                text.insert(at, 1, bytes[random.below(bytes.size())]);
                break;
            default:
                text[at] = bytes[random.below(bytes.size())];
                break;
            }
        }
        const auto parsed = parse_training(text, "app.yaml");
        accepted += parsed.ok();
        if (!parsed.ok())
            BOOST_REQUIRE(parsed.failure().message().starts_with("app.yaml"));
    }
    BOOST_TEST(accepted < 4000u);
}
BOOST_AUTO_TEST_SUITE_END()
