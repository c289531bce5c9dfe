#include "actors/training/plan/app_checks.hpp"

#include <algorithm>

#include "actors/training/plan/planned_schedule.hpp"
#include "kernels/graph/stage_program.hpp"
#include "kernels/optim/run_shape.hpp"

namespace troupe::app_file {

namespace {

result<void> check_stages(const training_app& definition, proto::Stages::Reader stages,
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
result<std::vector<layer_info>> check_shapes(const training_app& definition) {
    auto layers = describe_model(definition.app().getModel());
    if (layers)
        return layers;
    const std::string& message = layers.failure().message();
    const std::size_t colon = message.find(": ");
    TROUPE_CHECK(colon != std::string::npos, "errors of a model begin with the layer");
    std::string path = message.substr(0, colon);
    std::ranges::replace(path, ' ', '.');
    if (!path.starts_with("model."))
        path = "model." + path;
    return definition.error_at(path, message.substr(colon + 2));
}

// Data and model must cut the row of tokens at the same place.
result<void> check_source_length(const training_app& definition) {
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

result<void> check_growth(const training_app& definition) {
    const auto train = definition.app().getTrain();
    if (!train.hasBatchGrowth() || train.getBatchGrowth().getMaximum() >= train.getBatch())
        return {};
    return definition.error_at(
        "train.batch_growth.maximum",
        counted(train.getBatchGrowth().getMaximum(), "sample") + " are fewer than train.batch, " +
            std::to_string(train.getBatch()) + ", from which minibatches grow");
}

// The layer that needs the most samples at once in training, if one needs several.
const layer_info* neediest_layer(std::span<const layer_info> layers) {
    const auto most = std::ranges::max_element(layers, {}, &layer_info::samples_min);
    return most->samples_min > 1 ? &*most : nullptr;
}

// Refuses minibatches of `samples` samples whose smallest part is too small for this layer. `which` names them.
result<void> check_parts(const training_app& definition, const layer_info& layer,
                         std::uint64_t samples, const std::string& which) {
    const auto topology = definition.app().getTopology();
    const bool cuts =
        topology.isPipeline() && cuts_minibatches(topology.getPipeline().getSchedule());
    const std::uint64_t parts =
        cuts ? std::min<std::uint64_t>(topology.getPipeline().getMicrobatches(), samples) : 1;
    if (samples / parts >= layer.samples_min)
        return {};
    return definition.error_at(
        "train.batch", which + " has " + counted(samples, "sample") +
                           (parts > 1 ? " in " + std::to_string(parts) + " microbatches" : "") +
                           ", but " + layer.name + " needs " + std::to_string(layer.samples_min) +
                           " at once in training; choose another train.batch" +
                           (cuts ? ", or fewer topology.pipeline.microbatches" : ""));
}

// Refuses a number of samples whose remainder in an epoch's last minibatch is too small for this layer.
result<void> check_rests(const training_app& definition, const layer_info& layer,
                         std::uint64_t train_samples) {
    const auto train = definition.app().getTrain();
    const batch_sizes sizes = batch_sizes::of(train);
    for (std::uint32_t epoch = 0; epoch < train.getEpochs();) {
        const std::uint64_t rest = train_samples % sizes.at(epoch);
        if (rest > 0)
            if (auto fits = check_parts(definition, layer, rest,
                                        "of " + counted(train_samples, "sample") +
                                            " the last minibatch of an epoch");
                !fits)
                return fits;
        if (sizes.at(epoch) >= sizes.maximum || sizes.every_epochs == 0)
            break; // the batch grows no more
        epoch += sizes.every_epochs;
    }
    return {};
}

result<void> check_pipeline(const training_app& definition, std::size_t layers) {
    const auto pipeline = definition.app().getTopology().getPipeline();
    if (auto checked = check_stages(definition, pipeline.getStages(), layers); !checked)
        return checked;
    const std::uint32_t batch = definition.app().getTrain().getBatch();
    if (cuts_minibatches(pipeline.getSchedule()) && pipeline.getMicrobatches() > batch)
        return definition.error_at("topology.pipeline.microbatches",
                                   std::to_string(pipeline.getMicrobatches()) +
                                       " microbatches of a batch of " + counted(batch, "sample") +
                                       "; every microbatch needs at least one sample");
    return {};
}

} // namespace

result<void> check_training(const training_app& definition,
                            std::optional<std::uint64_t> train_samples) {
    const auto layers = describe_model(definition.app().getModel());
    TROUPE_CHECK(layers.ok(), "the model was checked when it was loaded");
    const layer_info* layer = neediest_layer(*layers);
    if (layer == nullptr)
        return {};
    if (auto fits =
            check_parts(definition, *layer, definition.app().getTrain().getBatch(), "a minibatch");
        !fits)
        return fits;
    return train_samples ? check_rests(definition, *layer, *train_samples) : result<void>{};
}

result<void> check_meaning(const training_app& definition) {
    const auto layers = check_shapes(definition);
    if (!layers)
        return layers.failure();
    if (auto checked = check_source_length(definition); !checked)
        return checked;
    if (auto checked = check_growth(definition); !checked)
        return checked;
    if (auto checked = check_sync(definition); !checked)
        return checked;
    return definition.app().getTopology().isPipeline() ? check_pipeline(definition, layers->size())
                                                       : result<void>{};
}

} // namespace troupe::app_file
