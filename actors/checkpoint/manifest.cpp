#include "actors/checkpoint/manifest.hpp"

#include <algorithm>
#include <limits>

#include "actors/checkpoint/file_writer.hpp"
#include "schemas/base/json.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

constexpr const char* format_name = "troupe-checkpoint";
// Version 1 had no vocabulary_sha256, version 2 no counts of updates.
constexpr std::uint64_t format_version = 3;

error bad(const std::string& sentence) {
    return {errc::data, "not a usable checkpoint manifest: " + sentence};
}

std::string hash_of(const std::string& text) {
    sha256 hash;
    hash.add(std::as_bytes(std::span{text}));
    return hash.hex();
}

// The member `key` as a whole number up to `max`, or as text; none if it is missing or has another type.
std::optional<std::uint64_t>
number_in(const json& map, const char* key,
          std::uint64_t max = std::numeric_limits<std::uint64_t>::max()) {
    return map[key].count(max);
}
std::optional<std::string> text_in(const json& map, const char* key) {
    return map[key].text();
}

bool is_hash(const std::string& text) {
    return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Bound on a parameter's count of updates, which the optimizer increments.
constexpr std::uint64_t updates_max = std::uint64_t{1} << 53;

// Parses a number, or a map of names to numbers.
std::optional<update_counts> parse_updates(const json& map) {
    const json& updates = map["updates"];
    if (!updates.is_object())
        return number_in(map, "updates", updates_max);
    std::map<std::string, std::uint64_t, std::less<>> by_name;
    for (const auto& [name, value] : updates.members()) {
        const auto count = value.count(updates_max);
        if (!count)
            return std::nullopt;
        by_name[name] = *count;
    }
    return by_name;
}

std::optional<checkpoint_stage> parse_stage(const json& map, bool counts_updates) {
    if (!map.is_object())
        return std::nullopt;
    const auto first = number_in(map, "first_layer", limits::layers_max);
    const auto count = number_in(map, "layers", limits::layers_max);
    const auto bytes = number_in(map, "bytes", limits::checkpoint_file_bytes_max);
    const auto file = text_in(map, "file");
    const auto hash = text_in(map, "sha256");
    const auto updates = counts_updates ? parse_updates(map) : update_counts{};
    if (!first || !count || *count == 0 || !bytes || !file || !hash || !is_hash(*hash) || !updates)
        return std::nullopt;
    return checkpoint_stage{{*first, *count}, *file, *bytes, *hash, *updates};
}

result<std::vector<checkpoint_stage>> parse_stages(const json& map, bool counts_updates) {
    const json& list = map["stages"];
    if (!list.is_array() || list.empty() || list.size() > limits::stages_max)
        return bad("stages is not a list of 1 to " + std::to_string(limits::stages_max));
    std::vector<checkpoint_stage> stages;
    for (const json& item : list.items()) {
        auto stage = parse_stage(item, counts_updates);
        // Only names of stage_file_name() are accepted, so that no manifest can point outside its folder.
        if (!stage || stage->file != stage_file_name(stages.size(), list.size()))
            return bad("stage " + std::to_string(stages.size()) +
                       " is not described as a stage is");
        stages.push_back(std::move(*stage));
    }
    if (!stages_are_contiguous(stages))
        return bad("the stages' layers have gaps or overlaps");
    return stages;
}

// Minibatches done since the last whole epoch. Manifests of runs with minibatches of one size may lack it.
std::optional<std::uint64_t> minibatches_of_epoch(const json& map, std::uint64_t done,
                                                  std::uint64_t epochs, std::uint64_t batch,
                                                  std::uint64_t samples) {
    if (map.contains("minibatches_of_epoch"))
        return number_in(map, "minibatches_of_epoch", done);
    const std::uint64_t whole = batch > 0 ? epochs * ((samples + batch - 1) / batch) : 0;
    return done - std::min(done, whole);
}

} // namespace

std::string stage_file_name(std::size_t stage, std::size_t stages) {
    return "stage-" + std::to_string(stage) + "-of-" + std::to_string(stages) + ".safetensors";
}

bool stages_are_contiguous(std::span<const checkpoint_stage> stages) {
    std::size_t next = 0;
    for (const checkpoint_stage& stage : stages) {
        if (stage.layers.first != next)
            return false;
        next += stage.layers.count;
    }
    return true;
}

std::string manifest_json(const checkpoint_progress& progress,
                          std::span<const checkpoint_stage> stages) {
    json list = json::array();
    for (const checkpoint_stage& stage : stages)
        list.push_back(
            {{"file", stage.file},
             {"first_layer", stage.layers.first},
             {"layers", stage.layers.count},
             {"bytes", stage.bytes},
             {"sha256", stage.sha256},
             {"updates", std::visit([](const auto& u) { return json(u); }, stage.updates)}});
    json map = {{"format", format_name},
                {"format_version", format_version},
                {"epochs_done", progress.epochs_done},
                {"minibatches_done", progress.minibatches_done},
                {"minibatches_of_epoch", progress.minibatches_of_epoch},
                {"weight_version", progress.version.value()},
                {"seed", progress.seed},
                {"batch", progress.batch},
                {"train_samples", progress.train_samples},
                {"epochs", progress.epochs},
                {"model", progress.model},
                {"model_sha256", hash_of(progress.model)},
                {"optimizer", progress.optimizer},
                {"stages", list}};
    if (!progress.vocabulary_sha256.empty())
        map["vocabulary_sha256"] = progress.vocabulary_sha256;
    return map.dump(2) + "\n";
}

result<checkpoint_info> parse_manifest(std::string_view text) {
    const json map = json::parse(text).value_or(nullptr);
    if (!map.is_object() || text_in(map, "format") != format_name)
        return bad("not a JSON map with \"format\": \"" + std::string{format_name} + "\"");
    const auto version = number_in(map, "format_version");
    if (!version || *version == 0 || *version > format_version)
        return bad("format_version is not one of 1 to " + std::to_string(format_version) +
                   "; another build of Troupe wrote it");
    const auto epochs = number_in(map, "epochs_done", std::numeric_limits<std::uint32_t>::max());
    const auto minibatches = number_in(map, "minibatches_done");
    const auto weights = number_in(map, "weight_version");
    const auto seed = number_in(map, "seed");
    const auto batch = number_in(map, "batch");
    const auto samples = number_in(map, "train_samples");
    const auto model = text_in(map, "model");
    if (!epochs || !minibatches || !weights || !seed || !batch || *batch > limits::batch_max ||
        !samples || !model)
        return bad("epochs_done, minibatches_done, weight_version, seed, batch, train_samples or "
                   "model is missing or of "
                   "the wrong kind");
    const auto of_epoch = minibatches_of_epoch(map, *minibatches, *epochs, *batch, *samples);
    if (!of_epoch)
        return bad("minibatches_of_epoch is more than minibatches_done, or no number");
    // Earlier builds did not say it.
    const auto planned = number_in(map, "epochs", std::numeric_limits<std::uint32_t>::max());
    if (map.contains("epochs") && !planned)
        return bad("epochs is no number of epochs");
    if (text_in(map, "model_sha256") != hash_of(*model))
        return bad("the model's text does not have its hash");
    const std::string vocabulary = text_in(map, "vocabulary_sha256").value_or("");
    if (map.contains("vocabulary_sha256") && !is_hash(vocabulary))
        return bad("vocabulary_sha256 is no hash");
    const bool counts_updates = *version >= 3;
    auto stages = parse_stages(map, counts_updates);
    if (!stages)
        return stages.failure();
    return checkpoint_info{{},
                           {static_cast<std::uint32_t>(*epochs), *minibatches, *of_epoch,
                            weight_version{*weights}, *seed, static_cast<std::uint32_t>(*batch),
                            *samples, *model, vocabulary, text_in(map, "optimizer").value_or(""),
                            static_cast<std::uint32_t>(planned.value_or(0))},
                           std::move(*stages),
                           counts_updates};
}

} // namespace troupe
