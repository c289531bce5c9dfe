// What an app file says that is right by its letters: noted, or refused for the data that it is given.
#include <boost/test/unit_test.hpp>

#include <algorithm>

#include "actors/training/plan/training_app.hpp"

using namespace troupe;

namespace {

const std::string data_line = "data: {synthetic: {}}\n";
const std::string model_lines = "model: {input: [4], layers: [relu, {linear: {out: 10}}]}\n";
const std::string train_line = "train: {batch: 16, optimizer: {sgd: {learning_rate: 0.1}}}\n";

} // namespace

BOOST_AUTO_TEST_SUITE(app_file_notes)

BOOST_AUTO_TEST_CASE(what_has_no_effect_is_noted_with_its_place) {
    const auto notes = [](const std::string& topology, const app_settings& settings = {}) {
        const std::string text = "troupe: 1\ntopology: {pipeline: {" + topology + "}}\n";
        return parse_training(text + data_line + model_lines + train_line, "app.yaml", settings)
            .value()
            .notes();
    };
    BOOST_TEST(notes("schedule: pipedream, microbatches: 17") ==
                   std::vector<std::string>{
                       "app.yaml:2:58: topology.pipeline.microbatches: not used by schedule "
                       "pipedream, which passes minibatches whole; leave it out, or choose "
                       "schedule: gpipe"},
               boost::test_tools::per_element());
    BOOST_TEST(notes("microbatches: 2", {"topology.pipeline.schedule=gpipe"}).empty());
    BOOST_TEST(notes("schedule: pipedream").empty());
    const auto growing = [&](const std::string& epochs) {
        return notes("schedule: gpipe", {"train.epochs=" + epochs,
                                         "train.batch_growth={every_epochs: 3, maximum: 99}"});
    };
    BOOST_TEST(growing("3") ==
                   std::vector<std::string>{
                       "--set train.batch_growth: train.batch_growth.every_epochs: not reached in "
                       "3 epochs, so minibatches do not grow"},
               boost::test_tools::per_element());
    BOOST_TEST(growing("4").empty());
    BOOST_TEST(notes("stages: 2", {"topology.pipeline.microbatches=2"}).size() == 1u);
    for (const char* rate : {"per_sample", "per_update"}) {
        const std::string given = "schedule: pipedream, rate: " + std::string{rate};
        for (const char* stages : {"", ", stages: 2", ", stages: [{layers: 1}, {layers: 1}]"})
            BOOST_TEST(
                notes(given + stages) ==
                    std::vector<std::string>{
                        "app.yaml:2:50: topology.pipeline.rate: only for stages with replicas "
                        "of their own, and no stage has any; leave it out, or give a stage "
                        "of topology.pipeline.stages replicas"},
                boost::test_tools::per_element());
        BOOST_TEST(notes(given + ", stages: [{layers: 1}, {layers: 1, replicas: 2}]").empty());
    }
    for (const char* stages : {"1, ", "[{layers: 2}], "})
        BOOST_TEST(notes("stages: " + std::string{stages} + "activations: bf16").size() == 1u);
    BOOST_TEST(notes("stages: 1, activations: int8") ==
                   std::vector<std::string>{
                       "app.yaml:2:47: topology.pipeline.activations: not used by a single "
                       "stage, which has no other to send to; leave it out, or give more stages"},
               boost::test_tools::per_element());
    BOOST_TEST(notes("stages: 2, activations: bf16").empty());
    BOOST_TEST(notes("activations: bf16").empty());
}

BOOST_AUTO_TEST_CASE(a_schedule_without_effect_or_with_epochs_at_rate_0_is_noted) {
    const auto notes = [](const std::string& schedule, std::uint32_t epochs,
                          const app_settings& settings = {}) {
        app_settings all{"train.schedule=" + schedule, "train.epochs=" + std::to_string(epochs)};
        all.insert(all.end(), settings.begin(), settings.end());
        std::string text;
        for (const std::string& note :
             parse_training("troupe: 1\n" + data_line + model_lines + train_line, "app.yaml", all)
                 .value()
                 .notes(60)) // four minibatches of 16
            text += note + "\n";
        return text;
    };
    const auto begin = [](const std::string& note, const std::string& words) {
        BOOST_TEST(note.starts_with("--set train.schedule: " + words), note);
        BOOST_TEST(std::ranges::count(note, '\n') == 1);
    };
    const std::string one_step = "{step: {every_epochs: 2}}";
    for (const char* good : {"constant", "{cosine: {}}", "{polynomial: {power: 2}}"})
        for (const std::uint32_t epochs : {1u, 3u})
            BOOST_TEST(notes(good, epochs) == "");
    BOOST_TEST(notes(one_step, 3) == "");
    // The rate of all minibatches is one.
    const std::string without_effect = "without effect: the learning rate over 8 minibatches is ";
    begin(notes(one_step, 2), without_effect + "0.1; ");
    begin(notes("{step: {every_epochs: 1, factor: 1}}", 2), without_effect);
    begin(notes("{cosine: {final_factor: 1}}", 2), without_effect);
    begin(notes("{polynomial: {power: 0}}", 2), without_effect);
    begin(notes("{cosine: {}}", 2, {"train.optimizer.sgd.learning_rate=0"}),
          without_effect + "0; ");
    begin(notes("{cosine: {}}", 1, {"train.warmup_minibatches=3"}),
          "without effect: the learning rate over 1 minibatch after the warm-up is 0.1; ");
    begin(notes(one_step, 3, {"train.warmup_minibatches=4"}),
          "without effect: the learning rate over 8 minibatches after the warm-up is 0.1; ");
    begin(notes("{cosine: {}}", 2, {"train.warmup_minibatches=8"}), "begins after the warm-up");
    // Epochs that change nothing.
    begin(notes("{step: {every_epochs: 2, factor: 0}}", 4),
          "the learning rate is 0 from epoch 3 of 4 on");
    const app_settings whole = {"train.batch=60"}; // one minibatch is an epoch
    begin(notes("{cosine: {}}", 3, whole), "the learning rate is 0 from epoch 3 of 3 on");
    BOOST_TEST(notes("{cosine: {final_factor: 0.01}}", 3, whole) == "");
    const app_settings four = {"topology.replicas=4"}; // one update is an epoch
    begin(notes("{cosine: {}}", 3, four), "the learning rate is 0 from epoch 3 of 3 on");
    BOOST_TEST(notes("{cosine: {}}", 3, {"topology.replicas=2"}) == "");
}

BOOST_AUTO_TEST_CASE(elastic_averaging_that_is_rare_or_swings_is_noted) {
    const auto notes = [](const std::string& settings, const std::string& more = "momentum: 0") {
        const std::string topology =
            "topology: {replicas: 4, sync: {elastic_averaging: {" + settings + "}}}\n";
        std::string text;
        for (const std::string& note :
             parse_training("troupe: 1\n" + data_line + model_lines +
                                "train: {batch: 16, optimizer: {sgd: {learning_rate: 0.1, " + more +
                                "}}}\n" + topology,
                            "app.yaml")
                 .value()
                 .notes(640)) // ten updates of each replica
            text += note + "\n";
        return text;
    };
    const std::string nesterov = "momentum: 0.9, nesterov: true";
    for (const char* good : {"period: 10", "period: 10, synchronous: true", "period: 2, rate: 1",
                             "period: 1", "period: 1, rate: 0.66"})
        BOOST_TEST(notes(good) == "");
    BOOST_TEST(notes("period: 1, rate: 0.4", nesterov) == "");
    for (const char* rare : {"period: 11", "period: 11, synchronous: true"})
        BOOST_TEST(notes(rare).find("a replica makes 10 updates in an epoch, fewer than the 11") !=
                   std::string::npos);
    const auto swings = [&](const std::string& note, const std::string& above) {
        BOOST_TEST(note.find("the learning rate times the curvature of the loss is above " + above +
                             ";") != std::string::npos,
                   note);
    };
    swings(notes("period: 1, rate: 0.9"), "0.36"); // (4 - 4 * 0.9) / (2 - 0.9)
    swings(notes("period: 1, rate: 0.5", nesterov), "0.9");
    swings(notes("period: 1, rate: 0.35, synchronous: true"), "0.83");
}

BOOST_AUTO_TEST_CASE(data_keys_without_effect_are_noted) {
    const auto notes = [](const std::string& data) {
        return parse_training("troupe: 1\ndata: {" + data + "}\n" + model_lines + train_line,
                              "app.yaml")
            .value()
            .notes();
    };
    BOOST_TEST(notes("text: {train: [a], test: [b], test_share: 0.2}") ==
                   std::vector<std::string>{"app.yaml:2:50: data.text.test_share: not used where "
                                            "test names files; leave it out"},
               boost::test_tools::per_element());
    BOOST_TEST(notes("text: {train: [a], test_share: 0.2}").empty());
    const std::string npy = "npy: {train_inputs: a, train_labels: b, test_inputs: c}";
    BOOST_TEST(notes(npy).empty());
    BOOST_TEST(notes(npy + ", target: input").size() == 1u);
    BOOST_TEST(notes("synthetic: {classes: 3, vocabulary: 5, next_token: true}").size() == 1u);
    BOOST_TEST(notes("synthetic: {vocabulary: 5, next_token: true}").empty());
}

BOOST_AUTO_TEST_CASE(what_is_hardly_meant_is_noted) {
    const auto notes = [](const std::string& data, const std::string& layers) {
        return parse_training("troupe: 1\ndata: {synthetic: {" + data + "}}\n" + train_line +
                                  "model: {input: [4], layers: [" + layers + "]}\n",
                              "app.yaml")
            .value()
            .notes();
    };
    const auto one = [](const std::string& text) { return std::vector<std::string>{text}; };
    BOOST_TEST(notes("classes: 3", "{linear: {out: 3}}, softmax") ==
                   one("app.yaml:4:50: model.layers[1]: cross_entropy brings a softmax of its own, "
                       "and learns badly from a second one; leave this layer out"),
               boost::test_tools::per_element());
    BOOST_TEST(notes("classes: 3", "softmax, {linear: {out: 3}}").empty());
    const std::string embedding = "{embedding: {vocabulary: 9, width: 6}}, ";
    const std::string end = ", {linear: {out: 9}}";
    const auto of_text = [&](const std::string& layer) {
        return notes("vocabulary: 9, next_token: true", embedding + layer + end);
    };
    const std::string why = "not causal, so that each position sees the next token, which is its "
                            "label; say causal: true";
    BOOST_TEST(
        of_text(
            "{repeat: {times: 2, layers: [{recompute: {layers: [{attention: {heads: 2}}]}}]}}") ==
            one("app.yaml:4:133: model.layers[1].repeat.layers[0].recompute.layers[0]."
                "attention: " +
                why),
        boost::test_tools::per_element());
    BOOST_TEST(of_text("{transformer: {heads: 2}}") ==
                   one("app.yaml:4:84: model.layers[1].transformer: " + why),
               boost::test_tools::per_element());
    BOOST_TEST(of_text("{attention: {heads: 2, causal: true}}").empty());
    BOOST_TEST(of_text("{transformer: {heads: 2, causal: true}}").empty());
    // A source has no labels to see.
    const std::string half = "{embedding: {vocabulary: 9, width: 6}}, {attention: {heads: 2}}";
    const auto translator =
        notes("vocabulary: 9, next_token: true, source_length: 2",
              "{encoder_decoder: {source_length: 2, encoder: [" + half + "], decoder: [" + half +
                  ", {attention_gru: {out: 4, attention: 4}}, {linear: {out: 9}}]}}");
    BOOST_REQUIRE(translator.size() == 1u);
    BOOST_TEST(translator[0].ends_with("encoder_decoder.decoder[1].attention: " + why),
               translator[0]);
    BOOST_TEST(
        notes("vocabulary: 9, classes: 9", embedding + "{transformer: {heads: 2}}, flatten" + end)
            .empty());
}

BOOST_AUTO_TEST_CASE(a_warm_up_longer_than_the_run_is_noted_where_the_samples_are_known) {
    const auto app = parse_training("troupe: 1\n" + data_line + model_lines + train_line,
                                    "app.yaml", {"train.warmup_minibatches=13", "train.epochs=3"})
                         .value(); // minibatches of 16
    BOOST_TEST(app.notes().empty());
    BOOST_TEST(app.notes(65).empty());
    BOOST_TEST(app.notes(64) ==
                   std::vector<std::string>{
                       "--set train.warmup_minibatches: the run has 12 minibatches, so that the "
                       "learning rate never reaches its full height"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_batch_that_the_samples_do_not_fill_is_noted) {
    const auto app =
        parse_training("troupe: 1\n" + data_line + model_lines + train_line, "app.yaml").value();
    BOOST_TEST(app.notes(16).empty());
    BOOST_TEST(app.notes(15) ==
                   std::vector<std::string>{
                       "app.yaml:4:16: train.batch: more than the 15 training samples, which are "
                       "then one minibatch"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_batch_norm_of_one_value_is_refused_before_training) {
    const auto app = [](const std::string& shape, const app_settings& settings) {
        return parse_training(
            "troupe: 1\n" + data_line + train_line + "model: {input: " + shape +
                ", layers: [{recompute: {layers: [batch_norm]}}, {linear: {out: 10}}]}\n",
            "app.yaml", settings);
    };
    const std::string gpipe = "topology={pipeline: {schedule: gpipe, microbatches: 3}}";
    const auto with_samples = [&](const app_settings& settings, std::uint64_t samples) {
        const auto fits = app("[4]", settings).value().check_training(samples);
        return fits ? "accepted" : fits.failure().message();
    };
    const std::string advice =
        ", but layers.0 recompute needs 2 at once in training; choose another train.batch";
    BOOST_TEST(with_samples({}, 32) == "accepted"); // minibatches of 16
    BOOST_TEST(with_samples({}, 34) == "accepted");
    BOOST_TEST(with_samples({}, 33) ==
               "app.yaml:3:16: train.batch: of 33 samples the last minibatch "
               "of an epoch has 1 sample" +
                   advice);
    BOOST_TEST(with_samples({gpipe}, 38) == "accepted");
    BOOST_TEST(
        with_samples({gpipe}, 37) ==
        "app.yaml:3:16: train.batch: of 37 samples the last minibatch of an epoch has 5 samples "
        "in 3 microbatches" +
            advice + ", or fewer topology.pipeline.microbatches");
    const std::string growth = "train.batch_growth={every_epochs: 1, maximum: 64}";
    BOOST_TEST(with_samples({growth}, 97) == with_samples({}, 97));
    const auto growing = [&](const std::string& epochs, std::uint64_t samples) {
        return with_samples({growth, "train.batch=20", "train.epochs=" + epochs}, samples);
    };
    BOOST_TEST(growing("2", 129) == "accepted"); // 20, 40
    BOOST_TEST(growing("3", 129).find("of 129 samples the last minibatch") != std::string::npos);
    BOOST_TEST(growing("3", 130) == "accepted");
    BOOST_TEST(app("[4]", {"train.batch=1"}).value().check_training().failure().message() ==
               "--set train.batch: a minibatch has 1 sample" + advice);
    BOOST_TEST(app("[4]", {"train.batch=5", gpipe}).value().check_training().failure().message() ==
               "--set train.batch: a minibatch has 5 samples in 3 microbatches" + advice +
                   ", or fewer topology.pipeline.microbatches");
    // Of images each has several values by itself.
    BOOST_TEST(app("[4, 2, 1]", {"train.batch=1"}).value().check_training().ok());
    BOOST_TEST(!app("[4, 1, 1]", {"train.batch=1"}).value().check_training().ok());
}

BOOST_AUTO_TEST_SUITE_END()
