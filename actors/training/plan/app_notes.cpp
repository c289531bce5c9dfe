// Keys of an app file that have no effect or are hardly intended.
#include <algorithm>
#include <functional>
#include <ranges>

#include "actors/pipeline/shape/replica_sync.hpp"
#include "actors/training/plan/app_checks.hpp"
#include "actors/training/plan/planned_rate.hpp"
#include "actors/training/plan/planned_schedule.hpp"
#include "kernels/graph/child_layers.hpp"
#include "kernels/optim/learning_rate.hpp"
#include "kernels/optim/run_shape.hpp"

namespace troupe::app_file {

namespace {

void add_idle_data(proto::Data::Reader data, std::vector<doubtful_key>& keys) {
    const bool own_labels = data.getTarget() == proto::DataTarget::INPUT;
    if (own_labels && data.isNpy())
        for (const char* path : {"data.npy.train_labels", "data.npy.test_labels"})
            keys.push_back({path, "not used with target: input; leave it out"});
    if (data.isText() && data.getText().hasTest())
        keys.push_back({"data.text.test_share", "not used where test names files; leave it out"});
    if (data.isSynthetic() && data.getSynthetic().getNextToken())
        keys.push_back({"data.synthetic.classes",
                        "not used with next_token, whose labels are tokens; leave it out"});
}

using layer_visitor = std::function<void(proto::Layer::Reader, const std::string& path)>;

// Visits every layer of the app file that sees the labels' positions, in blocks too, but not an encoder's layers.
void visit(capnp::List<proto::Layer>::Reader layers, const std::string& path,
           const layer_visitor& see) {
    for (unsigned i = 0; i < layers.size(); ++i) {
        const std::string here = path + "[" + std::to_string(i) + "].";
        see(layers[i], here);
        const auto children = children_of(layers[i]);
        for (std::size_t c = layers[i].isEncoderDecoder() ? 1 : 0; c < children.size(); ++c)
            visit(children[c].layers, here + children[c].key, see);
    }
}

// The keys of layers that let a position see later positions.
std::vector<std::string> layers_that_look_ahead(proto::Model::Reader model) {
    std::vector<std::string> found;
    visit(model.getLayers(), "model.layers",
          [&](proto::Layer::Reader layer, const std::string& here) {
              if (layer.isAttention() && !layer.getAttention().getCausal())
                  found.push_back(here + "attention");
              if (layer.isTransformer() && !layer.getTransformer().getCausal())
                  found.push_back(here + "transformer");
          });
    return found;
}

bool labels_are_next_tokens(proto::Data::Reader data) {
    return data.getTarget() == proto::DataTarget::LABELS &&
           (data.isText() || data.isTranslation() ||
            (data.isSynthetic() && data.getSynthetic().getNextToken()));
}

void add_doubtful_layers(proto::App::Reader app, std::vector<doubtful_key>& keys) {
    const auto model = app.getModel();
    const auto layers = model.getLayers();
    if (model.getLoss().isCrossEntropy() && layers[layers.size() - 1].isSoftmax())
        keys.push_back({"model.layers[" + std::to_string(layers.size() - 1) + "]",
                        "cross_entropy brings a softmax of its own, and learns badly from a second "
                        "one; leave this layer out"});
    if (!labels_are_next_tokens(app.getData()))
        return;
    for (const std::string& path : layers_that_look_ahead(model))
        keys.push_back({path, "not causal, so that each position sees the next token, which is its "
                              "label; say causal: true"});
}

// A schedule that changes no rate, or leaves whole epochs without one.
void add_idle_schedule(proto::App::Reader app, std::uint64_t samples,
                       std::vector<doubtful_key>& keys) {
    const auto train = app.getTrain();
    if (train.getSchedule().isConstant())
        return;
    const run_shape run = run_shape::of(train, samples);
    const std::uint64_t warmup = train.getWarmupMinibatches();
    const auto add = [&](std::string why) { keys.push_back({"train.schedule", std::move(why)}); };
    if (warmup >= run.minibatches())
        return add("begins after the warm-up (train.warmup_minibatches), which is as long as the "
                   "run; leave one of them out, or shorten the warm-up");
    const learning_rates rates =
        make_learning_rates(train, samples, replicas_in_turn(app.getTopology()));
    if (rates(warmup) == rates(run.minibatches() - 1))
        return add("without effect: the learning rate over " +
                   counted(run.minibatches() - warmup, "minibatch", "minibatches") +
                   (warmup > 0 ? " after the warm-up" : "") + " is " + digits_of(rates(warmup)) +
                   "; leave it out, or give other settings");
    const auto trains = [&](std::uint32_t epoch) {
        const std::uint64_t first = run.minibatches_before(epoch);
        return first < warmup || rates(first) > 0;
    };
    const std::uint32_t from =
        *std::ranges::partition_point(std::views::iota(0u, run.epochs), trains);
    if (from < run.epochs)
        add("the learning rate is 0 from epoch " + std::to_string(from + 1) + " of " +
            std::to_string(run.epochs) +
            " on, which changes no weight; give it a higher last rate, or have fewer epochs");
}

} // namespace

result<void> check_causal(const training_app& definition) {
    const auto found = layers_that_look_ahead(definition.app().getModel());
    if (found.empty())
        return {};
    return definition.error_at(found.front(),
                               "not causal, so that the model has learned from the tokens that it "
                               "would have to give; say causal: true and train anew");
}

std::vector<doubtful_key> doubtful_keys(proto::App::Reader app,
                                        std::optional<std::uint64_t> train_samples) {
    std::vector<doubtful_key> keys;
    add_idle_data(app.getData(), keys);
    add_doubtful_layers(app, keys);
    const auto train = app.getTrain();
    if (train_samples && *train_samples < train.getBatch())
        keys.push_back({"train.batch", "more than the " + std::to_string(*train_samples) +
                                           " training samples, which are then one minibatch"});
    if (train_samples &&
        run_shape::of(train, *train_samples).minibatches() < train.getWarmupMinibatches())
        keys.push_back({"train.warmup_minibatches",
                        "the run has " +
                            counted(run_shape::of(train, *train_samples).minibatches(), "minibatch",
                                    "minibatches") +
                            ", so that the learning rate never reaches its full height"});
    if (train_samples) {
        add_idle_schedule(app, *train_samples, keys);
        add_doubtful_elastic(app, *train_samples, keys);
    }
    if (train.hasBatchGrowth() && train.getBatchGrowth().getEveryEpochs() >= train.getEpochs())
        keys.push_back({"train.batch_growth.every_epochs", "not reached in " +
                                                               counted(train.getEpochs(), "epoch") +
                                                               ", so minibatches do not grow"});
    if (app.getTopology().getReplicas() == 1 && replicas_of_stages(app.getTopology()).empty())
        keys.push_back({"topology.sync",
                        "one replica agrees with itself; leave it out, or give topology.replicas"});
    if (!app.getTopology().isPipeline())
        return keys;
    if (replicas_of_stages(app.getTopology()).empty())
        keys.push_back(
            {"topology.pipeline.rate",
             "only for stages with replicas of their own, and no stage has any; leave it "
             "out, or give a stage of topology.pipeline.stages replicas"});
    const auto stages = app.getTopology().getPipeline().getStages();
    if ((stages.isCount() && stages.getCount() == 1) ||
        (stages.isList() && stages.getList().size() == 1))
        keys.push_back(
            {"topology.pipeline.activations",
             "not used by a single stage, which has no other to send to; leave it out, or "
             "give more stages"});
    const auto schedule = app.getTopology().getPipeline().getSchedule();
    if (!cuts_minibatches(schedule))
        keys.push_back({"topology.pipeline.microbatches",
                        "not used by schedule " + name_of(schedule) +
                            ", which passes minibatches whole; leave it out, or choose schedule: "
                            "gpipe"});
    return keys;
}

} // namespace troupe::app_file
