// App files that build on others.
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>

#include "actors/training/plan/training_app.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace troupe;
using troupe::test::temporary_folder;
namespace fs = std::filesystem;

namespace {

const std::string base_text =
    "troupe: 1\n"
    "data: {synthetic: {}}\n"
    "model: {input: [4], layers: [relu, {linear: {out: 10}}]}\n"
    "train: {batch: 16, epochs: 3, optimizer: {sgd: {learning_rate: 0.1, momentum: 0.5}}}\n"
    "checkpoint: {directory: saved}\n";

struct folder_of_apps {
    temporary_folder folder;

    fs::path write(const std::string& name, const std::string& text) const {
        const fs::path file = folder.path() / name;
        fs::create_directories(file.parent_path());
        std::ofstream{file} << text;
        return file;
    }
    std::string message(const fs::path& file) const {
        const auto loaded = load_training(file);
        BOOST_REQUIRE(!loaded.ok());
        return loaded.failure().message();
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(app_file_base, folder_of_apps)

BOOST_AUTO_TEST_CASE(keys_of_a_file_hold_before_those_of_its_base) {
    write("base.yaml", base_text);
    const auto definition =
        load_training(write("app.yaml",
                            "base: base.yaml\n"
                            "train: {batch: 8, optimizer: {sgd: {learning_rate: 0.2}}}\n"
                            "model: {layers: [{linear: {out: 10}}]}\n"))
            .value();
    const auto app = definition.app();
    BOOST_TEST(app.getTrain().getBatch() == 8u);
    BOOST_TEST(app.getTrain().getEpochs() == 3u);
    BOOST_TEST(app.getTrain().getOptimizer().getSgd().getLearningRate() == 0.2f);
    BOOST_TEST(app.getTrain().getOptimizer().getSgd().getMomentum() == 0.5f);
    BOOST_TEST(app.getModel().getLayers().size() == 1u); // a list is replaced
    BOOST_TEST(app.getModel().getInput().size() == 1u);
    BOOST_TEST(!app.hasBase());
}

BOOST_AUTO_TEST_CASE(one_way_of_several_replaces_another) {
    write("base.yaml", base_text + "topology: {pipeline: {stages: 2}}\n");
    const auto with = [&](const std::string& text) {
        return load_training(write("app.yaml", "base: base.yaml\n" + text)).value();
    };
    BOOST_TEST(with("train: {optimizer: {adam: {learning_rate: 0.1}}}")
                   .app()
                   .getTrain()
                   .getOptimizer()
                   .isAdam());
    BOOST_TEST(with("topology: single").app().getTopology().isSingle());
    const auto replicated = with("topology: {replicas: 3, sync: {local_sgd: {period: 2}}}");
    BOOST_TEST(replicated.app().getTopology().isPipeline()); // as in the base
    BOOST_TEST(replicated.app().getTopology().getReplicas() == 3u);
    BOOST_TEST(replicated.app().getTopology().getSync().getLocalSgd().getPeriod() == 2u);
}

BOOST_AUTO_TEST_CASE(replicas_alone_are_of_the_whole_model_on_one_device) {
    const auto app =
        load_training(write("app.yaml", base_text + "topology: {replicas: 2}\n")).value();
    BOOST_TEST(app.app().getTopology().isSingle());
    BOOST_TEST(app.app().getTopology().getSync().isAllReduce());
    BOOST_TEST(app.app().getTopology().getReplicas() == 2u);
}

BOOST_AUTO_TEST_CASE(file_names_start_at_the_folder_of_the_file_that_they_stand_in) {
    write("deep/base.yaml", base_text);
    const auto of_base = load_training(write("app.yaml", "base: deep/base.yaml\n")).value();
    BOOST_TEST(std::string{of_base.app().getCheckpoint().getDirectory().cStr()} ==
               (folder.path() / "deep/saved").string());
    const auto own = load_training(write("app.yaml", "base: deep/base.yaml\n"
                                                     "checkpoint: {directory: mine}\n"))
                         .value();
    BOOST_TEST(std::string{own.app().getCheckpoint().getDirectory().cStr()} ==
               (folder.path() / "mine").string());
}

BOOST_AUTO_TEST_CASE(a_base_may_have_one_of_its_own_and_settings_hold_before_all) {
    write("first.yaml", base_text);
    write("second.yaml", "base: first.yaml\ntrain: {epochs: 5, seed: 9}\n");
    const auto app =
        load_training(write("app.yaml", "base: second.yaml\ntrain: {seed: 2}\n"), {"train.batch=4"})
            .value();
    BOOST_TEST(app.app().getTrain().getEpochs() == 5u);
    BOOST_TEST(app.app().getTrain().getSeed() == 2u);
    BOOST_TEST(app.app().getTrain().getBatch() == 4u);
}

BOOST_AUTO_TEST_CASE(errors_name_the_file_that_they_are_in) {
    const fs::path base = write("base.yaml", base_text + "topolgy: single\n");
    const fs::path app = write("app.yaml", "base: base.yaml\n");
    BOOST_TEST(message(app) ==
               base.string() + ":6:1: topolgy: unknown key; did you mean \"topology\"?");
    write("base.yaml", base_text);
    write("app.yaml", "base: base.yaml\ntrain: {batch: 0}\n");
    BOOST_TEST(message(app).starts_with(app.string() + ":2:16: train.batch: "));
    write("app.yaml", "base: base.yaml\ntrain: {batch: 1}\ntrain: {batch: 2}\n");
    BOOST_TEST(message(app) == app.string() + ":3:1: train: repeated key; it stands at " +
                                   app.string() + ":2:1 already");
    write("app.yaml", "base: base.yaml\nbase: base.yaml\n");
    BOOST_TEST(message(app) == app.string() + ":2:1: base: repeated key; it stands at " +
                                   app.string() + ":1:1 already");
    write("base.yaml", base_text + "topology: {pipeline: {stages: 3}}\n");
    write("app.yaml", "base: base.yaml\n");
    BOOST_TEST(message(app).starts_with(base.string() + ":6:"));
}

BOOST_AUTO_TEST_CASE(a_base_that_cannot_be_is_refused) {
    const fs::path app = write("app.yaml", "base: missing.yaml\n");
    BOOST_TEST(message(app) == app.string() +
                                   ":1:7: base: " + (folder.path() / "missing.yaml").string() +
                                   ": no such app file");
    write("app.yaml", "base: [a]\n");
    BOOST_TEST(message(app) ==
               app.string() + ":1:7: base: must be the name of an app file, not a list");
    write("app.yaml", "base: app.yaml\n");
    BOOST_TEST(message(app).find("does one of them build on itself?") != std::string::npos);
    write("app.yaml", "base: .\n");
    BOOST_TEST(message(app).find("a folder, not an app file") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
