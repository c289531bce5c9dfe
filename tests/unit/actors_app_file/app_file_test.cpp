// What a right app file gives.
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>

#include "actors/training/plan/training_app.hpp"

using namespace troupe;

namespace {

const std::string small_app = R"(troupe: 1
data: {synthetic: {}}
model:
  input: [1, 8, 8]
  layers:
    - conv2d: {out: 4, kernel: 3}
    - relu
    - max_pool: {kernel: 2}
    - linear: {out: 10}
train: {batch: 16, optimizer: {sgd: {learning_rate: 0.1}}}
)";

training_app parse(const std::string& text, const app_settings& settings = {}) {
    auto parsed = parse_training(text, "dir/app.yaml", settings);
    BOOST_REQUIRE_MESSAGE(parsed.ok(), (parsed.ok() ? "" : parsed.failure().message()));
    return *parsed;
}

} // namespace

BOOST_AUTO_TEST_SUITE(app_file)

BOOST_AUTO_TEST_CASE(values_are_read_and_absent_ones_have_the_schemas_defaults) {
    const auto definition = parse(small_app);
    const auto app = definition.app();
    BOOST_TEST(app.getTroupe() == 1);
    BOOST_TEST(app.getData().isSynthetic());
    BOOST_TEST(app.getData().getSynthetic().getTrainSamples() == 1024u);
    BOOST_TEST(app.getModel().getInput().size() == 3u);
    const auto layers = app.getModel().getLayers();
    BOOST_REQUIRE(layers.size() == 4u);
    BOOST_TEST(layers[0].getConv2d().getOut() == 4u);
    BOOST_TEST(layers[0].getConv2d().getStride() == 1u);
    BOOST_TEST(layers[1].isRelu());
    BOOST_TEST(layers[2].getMaxPool().getKernel() == 2u);
    BOOST_TEST(layers[3].getLinear().getOut() == 10u);
    BOOST_TEST(app.getTrain().getEpochs() == 1u);
    BOOST_TEST(app.getTrain().getShuffle());
    BOOST_TEST(app.getTrain().getOptimizer().getSgd().getLearningRate() == 0.1f);
    BOOST_TEST(app.getTrain().getSchedule().isConstant());
    BOOST_TEST(app.getTopology().isSingle());
    BOOST_TEST(!app.hasCheckpoint());
}

BOOST_AUTO_TEST_CASE(stages_follow_the_kind_of_the_value) {
    const auto stages = [](const std::string& value) {
        return parse(small_app + "topology: {pipeline: {stages: " + value + "}}\n");
    };
    BOOST_TEST(stages("auto").app().getTopology().getPipeline().getStages().isAuto());
    BOOST_TEST(stages("3").app().getTopology().getPipeline().getStages().getCount() == 3u);
    const auto listed = stages("[{layers: 1, device: 'cpu:1'}, {layers: 3}]");
    const auto list = listed.app().getTopology().getPipeline().getStages().getList();
    BOOST_REQUIRE(list.size() == 2u);
    BOOST_TEST(list[0].getDevice().cStr() == std::string{"cpu:1"});
    BOOST_TEST(list[1].getLayers() == 3u);
    BOOST_TEST(!list[1].hasDevice());
}

BOOST_AUTO_TEST_CASE(a_union_is_a_word_or_a_map_of_one_key) {
    BOOST_TEST(parse(small_app + "topology: single").app().getTopology().isSingle());
    BOOST_TEST(parse(small_app + "topology: {single: }").app().getTopology().isSingle());
    BOOST_TEST(parse(small_app + "topology: {single: {}}").app().getTopology().isSingle());
    const auto pipeline = parse(small_app + "topology: {pipeline: {schedule: gpipe}}");
    BOOST_TEST(pipeline.app().getTopology().getPipeline().getSchedule().isGpipe());
}

BOOST_AUTO_TEST_CASE(a_loss_is_a_word_or_has_settings) {
    const auto with = [](const std::string& loss) {
        std::string text = small_app;
        return parse(text.insert(text.find("train:"), "  loss: " + loss + "\n"));
    };
    const auto absent = parse(small_app);
    BOOST_TEST(absent.app().getModel().getLoss().isCrossEntropy());
    const auto word = with("cross_entropy");
    BOOST_TEST(word.app().getModel().getLoss().getCrossEntropy().getLabelSmoothing() == 0);
    BOOST_TEST(word.app().getModel().getLoss().getCrossEntropy().getIgnoredLabel().isNone());
    const auto map = with("{cross_entropy: {label_smoothing: 0.1, ignored_label: 3}}");
    const auto settings = map.app().getModel().getLoss().getCrossEntropy();
    BOOST_TEST(settings.getLabelSmoothing() == 0.1f);
    BOOST_TEST(settings.getIgnoredLabel().getLabel() == 3u);
    BOOST_TEST(with("mean_squared_error").app().getModel().getLoss().isMeanSquaredError());
    for (const auto* definition : {&absent, &word, &map}) {
        const std::string text = render_app(definition->app());
        BOOST_TEST(render_app(parse(text).app()) == text);
    }
}

BOOST_AUTO_TEST_CASE(the_largest_seed_is_read_exactly) {
    const auto app = parse(small_app, {"train.seed=18446744073709551615"});
    BOOST_TEST(app.app().getTrain().getSeed() == 18446744073709551615u);
}

BOOST_AUTO_TEST_CASE(relative_files_start_at_the_app_files_folder_and_with_set_at_the_current_one) {
    const std::string data =
        "{idx: {train_images: ../a.gz, train_labels: /b.gz, test_images: c, test_labels: d}}";
    const auto app = parse(small_app, {"checkpoint.directory=out/run"});
    BOOST_TEST(app.app().getCheckpoint().getDirectory().cStr() == std::string{"out/run"});
    std::string text = small_app;
    text.replace(text.find("{synthetic: {}}"), 15, data);
    const auto from_file = parse(text, {"data.idx.test_labels=e"});
    const auto idx = from_file.app().getData().getIdx();
    BOOST_TEST(idx.getTrainImages().cStr() == std::string{"a.gz"}); // dir/../a.gz
    BOOST_TEST(idx.getTrainLabels().cStr() == std::string{"/b.gz"});
    BOOST_TEST(idx.getTestImages().cStr() == std::string{"dir/c"});
    BOOST_TEST(idx.getTestLabels().cStr() == std::string{"e"});
}

BOOST_AUTO_TEST_CASE(settings_replace_add_and_remove_values_in_order) {
    const auto app =
        parse(small_app + "checkpoint: {directory: /tmp/x}\n",
              {"model.layers[3].linear.out=7", "model.layers.0.conv2d.padding=2", "train.batch=8",
               "train.batch=32", "checkpoint=null", "topology.pipeline.stages=2",
               "data={synthetic: {classes: 7}}", "model.layers[1]=max_pool: {kernel: 1}"});
    BOOST_TEST(app.app().getModel().getLayers()[3].getLinear().getOut() == 7u);
    BOOST_TEST(app.app().getModel().getLayers()[0].getConv2d().getPadding() == 2u);
    BOOST_TEST(app.app().getModel().getLayers()[1].isMaxPool());
    BOOST_TEST(app.app().getTrain().getBatch() == 32u);
    BOOST_TEST(!app.app().hasCheckpoint());
    BOOST_TEST(app.app().getTopology().getPipeline().getStages().getCount() == 2u);
    BOOST_TEST(app.app().getData().getSynthetic().getClasses() == 7u);
}

BOOST_AUTO_TEST_CASE(a_setting_below_a_word_turns_it_into_a_map) {
    const auto app = parse(small_app + "topology: single\n", {"topology.pipeline.schedule=gpipe"});
    BOOST_TEST(app.app().getTopology().isPipeline());
}

BOOST_AUTO_TEST_CASE(errors_of_later_checks_name_the_place_of_the_value_or_of_what_holds_it) {
    const auto definition = parse(small_app, {"train.batch=8"});
    BOOST_TEST(definition.error_at("model.layers[3].linear", "too wide").message() ==
               "dir/app.yaml:9:15: model.layers[3].linear: too wide");
    BOOST_TEST(definition.error_at("topology.pipeline", "no").message() ==
               "dir/app.yaml:1:1: topology.pipeline: no");
    BOOST_TEST(definition.error_at("train.batch", "no").message() == "--set train.batch: no");
    BOOST_TEST(definition.file() == "dir/app.yaml");
}

BOOST_AUTO_TEST_CASE(a_rendered_definition_loads_to_the_same_definition) {
    const std::string topologies[] = {
        "", "topology: single\n", "topology: {pipeline: {schedule: gpipe, stages: 2}}\n",
        "topology: {pipeline: {stages: [{layers: 1, device: n/cpu:0}, {layers: 3}]}}\n"};
    for (const std::string& topology : topologies) {
        const auto first =
            parse(small_app + topology + "checkpoint: {directory: \"/tmp/a \\\"b\\\\\"}\n",
                  {"train.schedule={step: {every_epochs: 2}}", "train.seed=18446744073709551615"});
        const std::string text = render_app(first.app());
        const auto second = parse(text);
        BOOST_TEST(render_app(second.app()) == text);
        BOOST_TEST(second.app().getTrain().getSchedule().getStep().getFactor() == 0.1f);
        BOOST_TEST(second.app().getCheckpoint().getDirectory().cStr() ==
                   std::string{"/tmp/a \"b\\"});
    }
}

BOOST_AUTO_TEST_CASE(a_long_text_is_rendered_behind_its_key) {
    const std::string folder = "/tmp/" + std::string(200, 'f');
    const auto first = parse(small_app + "checkpoint: {directory: " + folder + "}\n");
    const std::string text = render_app(first.app());
    BOOST_TEST(text.find("  directory: " + folder + "\n") != std::string::npos);
    BOOST_TEST(render_app(parse(text).app()) == text);
}

BOOST_AUTO_TEST_CASE(a_rendered_definition_keeps_what_stands_beside_a_word) {
    const auto first =
        parse(small_app + "topology: {replicas: 2, devices: [{device: cpu:0, slow_down: 2}], "
                          "sync: {all_reduce: {}, codec: int8}}\n");
    const auto topology = parse(render_app(first.app()));
    const auto second = topology.app().getTopology();
    BOOST_TEST(second.isSingle());
    BOOST_TEST(second.getReplicas() == 2u);
    BOOST_TEST(second.getDevices()[0].getSlowDown() == 2.0f);
    BOOST_TEST(second.getSync().getCodec().isInt8());
}

BOOST_AUTO_TEST_CASE(a_setting_below_a_word_keeps_the_word_unless_it_names_another) {
    const std::string app = small_app + "topology: {replicas: 2, sync: all_reduce}\n";
    const auto kept = parse(app, {"topology.sync.codec=bf16"});
    BOOST_TEST(kept.app().getTopology().getSync().isAllReduce());
    BOOST_TEST(kept.app().getTopology().getSync().getCodec().isBf16());
    const auto replaced = parse(app, {"topology.sync.local_sgd.period=3"});
    BOOST_TEST(replaced.app().getTopology().getSync().isLocalSgd());
    const auto whole = parse(small_app + "topology: single\n", {"topology.replicas=2"});
    BOOST_TEST(whole.app().getTopology().getReplicas() == 2u);
}

BOOST_AUTO_TEST_CASE(a_word_stands_for_settings_that_all_have_defaults) {
    const auto app = parse("troupe: 1\ndata: synthetic\nmodel: {input: [4], layers: [batch_norm, "
                           "{linear: {out: 2}}]}\ntrain: {batch: 2, optimizer: adadelta}\n");
    const auto layer = app.app().getModel().getLayers()[0];
    BOOST_REQUIRE(layer.isBatchNorm());
    BOOST_TEST(layer.getBatchNorm().getMomentum() == 0.1f);
    BOOST_TEST(app.app().getTrain().getOptimizer().isAdadelta());
    BOOST_TEST(app.app().getData().getSynthetic().getClasses() == 10u);
}

BOOST_AUTO_TEST_CASE(rendering_fills_in_defaults_and_reads_like_a_hand_written_file) {
    BOOST_TEST(render_app(parse(small_app).app()) == R"(troupe: 1
data:
  synthetic:
    train_samples: 1024
    test_samples: 256
    classes: 10
    vocabulary: 0
    next_token: false
    source_length: 0
  target: labels
model:
  input: [1, 8, 8]
  layers:
    - conv2d: {out: 4, kernel: 3, stride: 1, padding: 0, groups: 1, bias: true}
    - relu
    - max_pool: {kernel: 2, stride: 0, padding: 0}
    - linear: {out: 10, bias: true}
  loss:
    cross_entropy: {label_smoothing: 0, ignored_label: none}
  precision: f32
train:
  batch: 16
  epochs: 1
  seed: 1
  optimizer:
    sgd: {learning_rate: 0.1, momentum: 0, nesterov: false, weight_decay: 0}
  schedule: constant
  shuffle: true
  warmup_minibatches: 0
  clip: none
topology: single
)");
}

// Those that train networks: the programs' own tests load theirs.
BOOST_AUTO_TEST_CASE(the_shipped_apps_load) {
    std::size_t apps = 0;
    for (const auto& file :
         std::filesystem::recursive_directory_iterator{TROUPE_SOURCE_ROOT "/apps"}) {
        if (!file.is_regular_file())
            continue;
        std::ifstream in{file.path()};
        const std::string text{std::istreambuf_iterator<char>{in}, {}};
        if (file.path().extension() != ".yaml" || text.find("\nprogram:") != std::string::npos)
            continue;
        const auto loaded = load_training(file.path());
        BOOST_TEST(loaded.ok(), (loaded.ok() ? "" : loaded.failure().message()));
        ++apps;
    }
    BOOST_TEST(apps >= 3u);
}

BOOST_AUTO_TEST_CASE(two_models_part_at_the_first_key_that_differs) {
    const auto model = [](const std::string& layers, const app_settings& settings = {}) {
        return parse("troupe: 1\ndata: {synthetic: {}}\nmodel: {input: [4, 8, 8], layers: [" +
                         layers +
                         "]}\ntrain: {batch: 16, optimizer: {sgd: {learning_rate: 0.1}}}\n",
                     settings);
    };
    const auto part = [](const training_app& then, const training_app& now) {
        return model_difference(render_app(then.app().getModel()), now.app().getModel());
    };
    const std::string linear = "relu, {dropout: {probability: 0.5}}, {linear: {out: 10}}";
    const auto saved = model(linear);
    BOOST_TEST(part(saved, model(linear)) == "");
    const std::pair<std::string, std::string> others[] = {
        {"relu, {dropout: {probability: 0.25}}, {linear: {out: 10}}",
         "model.layers[1].dropout.probability 0.5, not 0.25"},
        {"gelu, {dropout: {probability: 0.5}}, {linear: {out: 10}}",
         "model.layers[0] relu, not gelu"},
        {"relu, {linear: {out: 10}}", "model.layers[1] dropout, not linear"},
        {linear + ", tanh", "model.layers[3] none, not tanh"},
        {"relu, {repeat: {times: 2, layers: [relu]}}, {linear: {out: 10}}",
         "model.layers[1] dropout, not repeat"},
    };
    for (const auto& [layers, said] : others)
        BOOST_TEST(part(saved, model(layers)) == said);
    BOOST_TEST(part(model(linear + ", tanh"), saved) == "model.layers[3] tanh, not none");
    BOOST_TEST(part(saved, model(linear, {"model.precision=bf16"})) ==
               "model.precision f32, not bf16");
    BOOST_TEST(part(saved, model(linear, {"model.input[1]=6"})) == "model.input[1] 8, not 6");
    BOOST_TEST(part(saved, model(linear, {"model.loss={cross_entropy: {ignored_label: 0}}"})) ==
               "model.loss.cross_entropy.ignored_label none, not 0");
    const auto now = saved.app().getModel();
    BOOST_TEST(model_difference("", now) == "model none, not input, layers, loss, precision");
    BOOST_TEST(model_difference("{", now) == "another model");
    BOOST_TEST(model_difference("- \"\\e\"", now) ==
               "model [\\x1b], not input, layers, loss, precision");
    BOOST_TEST(model_difference(render_app(now) + "# of another build\n", now) == "another model");
}

BOOST_AUTO_TEST_CASE(an_optimizer_is_named_by_its_word) {
    BOOST_TEST(active_key(parse(small_app).app().getTrain().getOptimizer()) == "sgd");
}

BOOST_AUTO_TEST_SUITE_END()
