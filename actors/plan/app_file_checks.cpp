#include "actors/plan/app_file_checks.hpp"

#include <algorithm>

#include "actors/pipeline/schedule.hpp"
#include "kernels/graph/stage_program.hpp"

namespace troupe::app_file {

namespace {

std::string counted(std::uint64_t n, const char* noun) {
    return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

result<void> check_stages(const app_definition& definition, proto::Stages::Reader stages,
                          std::size_t layers) {
    const std::string path = "topology.pipeline.stages";
    if (stages.isCount() && stages.getCount() > layers)
        return definition.error_at(path, counted(stages.getCount(), "stage") + " for " +
                                             counted(layers, "layer") +
                                             "; every stage needs at least one layer");
    if (!stages.isList())
        return {};
    if (stages.getList().size() > layers)
        return definition.error_at(path, counted(stages.getList().size(), "stage") + " for " +
                                             counted(layers, "layer") +
                                             "; every stage needs at least one layer");
    std::uint64_t sum = 0;
    for (const auto stage : stages.getList())
        sum += stage.getLayers();
    if (sum != layers)
        return definition.error_at(path, "the stages hold " + counted(sum, "layer") +
                                             ", but the model has " + std::to_string(layers));
    return {};
}

// The kernels name a layer as "layers[3] conv2d: SENTENCE" and the input as "model.input: SENTENCE".
result<void> check_shapes(const app_definition& definition) {
    const auto layers = describe_model(definition.app().getModel());
    if (layers)
        return {};
    const std::string& message = layers.failure().message();
    const std::size_t colon = message.find(": ");
    TROUPE_CHECK(colon != std::string::npos, "errors of a model begin with the layer");
    std::string path = message.substr(0, colon);
    std::ranges::replace(path, ' ', '.');
    if (!path.starts_with("model."))
        path = "model." + path;
    return definition.error_at(path, message.substr(colon + 2));
}

// Data and model cut the row of tokens at the same place.
result<void> check_source_length(const app_definition& definition) {
    const auto data = definition.app().getData();
    const auto first = definition.app().getModel().getLayers()[0];
    if (!data.isTranslation() || !first.isEncoderDecoder())
        return {};
    const auto given = data.getTranslation().getSourceLength();
    const auto wanted = first.getEncoderDecoder().getSourceLength();
    if (given == wanted)
        return {};
    return definition.error_at("data.translation.source_length",
                               std::to_string(given) +
                                   " is not the source_length of the model's "
                                   "encoder_decoder, " +
                                   std::to_string(wanted));
}

result<void> check_growth(const app_definition& definition) {
    const auto train = definition.app().getTrain();
    if (!train.hasBatchGrowth() || train.getBatchGrowth().getMaximum() >= train.getBatch())
        return {};
    return definition.error_at(
        "train.batch_growth.maximum",
        counted(train.getBatchGrowth().getMaximum(), "sample") + " are fewer than train.batch, " +
            std::to_string(train.getBatch()) + ", from which minibatches grow");
}

} // namespace

result<void> check_meaning(const app_definition& definition) {
    if (auto checked = check_shapes(definition); !checked)
        return checked;
    if (auto checked = check_source_length(definition); !checked)
        return checked;
    const auto app = definition.app();
    if (auto checked = check_growth(definition); !checked)
        return checked;
    if (!app.getTopology().isPipeline())
        return {};
    const auto pipeline = app.getTopology().getPipeline();
    if (auto checked = check_stages(definition, pipeline.getStages(), count_layers(app.getModel()));
        !checked)
        return checked;
    if (cuts_minibatches(pipeline.getSchedule()) &&
        pipeline.getMicrobatches() > app.getTrain().getBatch())
        return definition.error_at("topology.pipeline.microbatches",
                                   std::to_string(pipeline.getMicrobatches()) +
                                       " microbatches of a batch of " +
                                       counted(app.getTrain().getBatch(), "sample") +
                                       "; every microbatch needs at least one sample");
    return {};
}

namespace {

void add_idle_keys(proto::Data::Reader data, std::vector<idle_key>& keys) {
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

} // namespace

std::vector<idle_key> idle_keys(proto::App::Reader app) {
    std::vector<idle_key> keys;
    add_idle_keys(app.getData(), keys);
    const auto train = app.getTrain();
    if (train.hasBatchGrowth() && train.getBatchGrowth().getEveryEpochs() >= train.getEpochs())
        keys.push_back({"train.batch_growth.every_epochs", "not reached in " +
                                                               counted(train.getEpochs(), "epoch") +
                                                               ", so minibatches do not grow"});
    if (!app.getTopology().isPipeline())
        return keys;
    const auto schedule = app.getTopology().getPipeline().getSchedule();
    if (!cuts_minibatches(schedule))
        keys.push_back({"topology.pipeline.microbatches",
                        "not used by schedule " + std::string{name_of(schedule)} +
                            ", which passes minibatches whole; leave it out, or choose schedule: "
                            "gpipe"});
    return keys;
}

} // namespace troupe::app_file
