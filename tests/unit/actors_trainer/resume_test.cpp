// Whether a run goes on from a checkpoint, and what it says where it does not.
#include <boost/test/unit_test.hpp>

#include <fstream>

#include "actors/training/plan/training_app.hpp"
#include "actors/training/resume.hpp"
#include "actors/training/samples.hpp"
#include "kernels/graph/stage_program.hpp"
#include "kernels/optim/optimizer.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct saved_run {
    // A checkpoint after so many epochs of 8 minibatches.
    void save(std::uint32_t epochs, const app_settings& settings = {}) const {
        const training_app of = app(settings);
        auto store = checkpoint_store::open({folder.path(), 9}).value();
        checkpoint_progress progress;
        progress.epochs_done = epochs;
        progress.minibatches_done = 8 * epochs;
        progress.version = weight_version{8 * epochs};
        progress.seed = 5;
        progress.batch = 4;
        progress.train_samples = 32;
        progress.epochs = of.app().getTrain().getEpochs();
        progress.model = render_app(of.app().getModel());
        progress.optimizer = active_key(of.app().getTrain().getOptimizer());
        const auto rule = make_optimizer(of.app().getTrain().getOptimizer());
        const auto layout = stage_program::whole(of.app().getModel()).value().layout(rule->state());
        memory_pool memory{1u << 20};
        std::vector<tensor> tensors;
        for (const auto& entry : layout.entries()) {
            tensors.push_back(tensor::allocate(memory, data_type::float32, entry.shape).value());
            std::ranges::fill(tensors.back().mutable_values<float>(), 0.5f);
        }
        auto writer = store.begin(progress, 1).value();
        BOOST_REQUIRE(
            writer
                .write_stage(stage_index{0},
                             {{0, 1}, named_tensors(layout, tensors), std::uint64_t{8 * epochs}})
                .ok());
        BOOST_REQUIRE(writer.commit().ok());
    }

    training_app app(const app_settings& settings = {}) const {
        return parse_training(
                   "troupe: 1\n"
                   "data: {synthetic: {train_samples: 32, test_samples: 4, classes: 3}}\n"
                   "model: {input: [6], layers: [linear: {out: 3}]}\n"
                   "train: {batch: 4, seed: 5, epochs: 9, optimizer: {sgd: {learning_rate: 0.1, "
                   "momentum: 0.9}}}\n"
                   "checkpoint: {directory: " +
                       folder.path().string() + "}\n",
                   "app.yaml", settings)
            .value();
    }
    result<checkpoints> open(bool resume, const app_settings& settings = {}) const {
        const training_app of = app(settings);
        return open_checkpoints(of.app(), *load_samples(of).value(), resume);
    }
    std::string why_not(const app_settings& settings) const {
        const auto opened = open(true, settings);
        BOOST_REQUIRE(!opened.ok());
        BOOST_TEST((opened.failure().code() == errc::usage));
        return opened.failure().message();
    }
    std::string at(const std::string& name) const { return (folder.path() / name).string(); }

    const temporary_folder folder;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(resuming, saved_run)

BOOST_AUTO_TEST_CASE(an_empty_folder_is_for_a_new_run_alone) {
    {
        const auto opened = open(false);
        BOOST_REQUIRE(opened.ok());
        BOOST_TEST(static_cast<bool>(opened->store));
        BOOST_TEST(!opened->resume);
        BOOST_TEST(why_not({}).find("another run saves its checkpoints here") != std::string::npos);
    }
    BOOST_TEST(why_not({}) == "--resume: " + folder.path().string() + " has no checkpoint");
    BOOST_TEST(why_not({"checkpoint=null"}) ==
               "--resume: the app file names no checkpoint folder; add checkpoint.directory");
}

BOOST_AUTO_TEST_CASE(checkpoints_of_an_earlier_run_are_gone_on_from_or_left_alone) {
    save(2);
    BOOST_TEST(open(false).failure().message().find("go on from them with --resume") !=
               std::string::npos);
    const auto opened = open(true);
    BOOST_REQUIRE_MESSAGE(opened.ok(), (opened.ok() ? "" : opened.failure().message()));
    BOOST_TEST(opened->resume->info().progress.epochs_done == 2u);
    BOOST_TEST(opened->notes.empty());
}

BOOST_AUTO_TEST_CASE(what_differs_from_the_run_that_saved_is_named) {
    save(2);
    const std::string saved = "--resume: " + at("epoch-0002") + " was saved with ";
    const auto differs = [&](const app_settings& settings, const std::string& how) {
        BOOST_TEST(why_not(settings).starts_with(saved + how + "; resume with the same"),
                   why_not(settings));
    };
    differs({"train.seed=6"}, "train.seed 5, not 6");
    differs({"data.synthetic.train_samples=36"}, "a number of training samples of 32, not 36");
    differs({"train.batch=8", "train.seed=6"}, "train.seed 5, not 6, train.batch 4, not 8");
    BOOST_TEST(why_not({"model.layers[0].linear.bias=false"})
                   .starts_with(saved + "model.layers[0].linear"));
    // Weights of the same shapes can be taken over.
    BOOST_TEST(why_not({"train.seed=6"}).find("`troupe convert") != std::string::npos);
    BOOST_TEST(why_not({"model.layers[0].linear.out=4"}).find("`troupe convert") ==
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(state_that_another_optimizer_lacks_or_leaves_is_noted) {
    save(2);
    const auto opened = open(true, {"train.optimizer={adam: {learning_rate: 0.1}}"});
    BOOST_REQUIRE(opened.ok());
    BOOST_TEST(opened->notes.size() == 2u);
    BOOST_TEST(opened->notes.at(0).ends_with(
        "another train.optimizer; its state is left out: momentum_buffer"));
    BOOST_TEST(opened->notes.at(1).ends_with("begins with zeros: exp_avg, exp_avg_sq"));
}

BOOST_AUTO_TEST_CASE(more_epochs_that_move_the_learning_rate_are_noted) {
    const auto notes = [&](const std::string& schedule, const char* epochs) {
        const app_settings settings{"train.schedule=" + schedule,
                                    "train.epochs=" + std::string{epochs}};
        const auto opened = open(true, settings);
        BOOST_REQUIRE(opened.ok());
        return opened->notes;
    };
    save(4); // 32 of 72 minibatches
    const std::string line = "{polynomial: {}}";
    BOOST_TEST(notes(line, "9").empty());
    BOOST_TEST(notes("constant", "20").empty());
    BOOST_TEST(notes("{step: {every_epochs: 2}}", "20").empty());
    for (const char* schedule : {"{cosine: {}}", "{polynomial: {final_factor: 0.5}}"})
        for (const char* epochs : {"8", "10"})
            BOOST_TEST(notes(schedule, epochs).size() == 1u);
    BOOST_TEST_REQUIRE(notes(line, "18").size() == 1u);
    // 1 - 32 / 143 and 1 - 32 / 71 of 0.1
    BOOST_TEST(notes(line, "18").at(0) ==
               "--resume: " + at("epoch-0004") +
                   " was saved by a run of 9 epochs, and this one has 18: polynomial "
                   "(train.schedule) ends with its last minibatch, and so the learning rate goes "
                   "on at 0.07762238 instead of 0.05492958");
}

BOOST_AUTO_TEST_CASE(a_damaged_checkpoint_is_named_with_the_older_one_to_go_on_from) {
    save(1);
    save(2);
    std::ofstream{at("epoch-0002/stage-0-of-1.safetensors"), std::ios::app} << 'x';
    const auto opened = open(true);
    BOOST_REQUIRE(!opened.ok());
    BOOST_TEST((opened.failure().code() == errc::data));
    BOOST_TEST(opened.failure().message().ends_with("; delete " + at("epoch-0002") +
                                                    " to go on from " + at("epoch-0001")),
               opened.failure().message());
}

BOOST_AUTO_TEST_SUITE_END()
