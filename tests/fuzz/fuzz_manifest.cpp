// Fuzz target: arbitrary bytes as a checkpoint's manifest.
#include "actors/checkpoint/manifest.hpp"
#include "tests/fuzz/target.hpp"

namespace troupe::fuzz {

bool read(std::span<const std::byte> in) {
    const auto info = parse_manifest(text_of(in));
    if (!info) {
        check_refusal(info.failure());
        return false;
    }
    const auto again = parse_manifest(manifest_json(info->progress, info->stages));
    TROUPE_CHECK(again.ok() && again->progress == info->progress, "what is read can be written");
    return true;
}

std::vector<std::string> sound_inputs() {
    checkpoint_progress progress{.epochs_done = 3,
                                 .minibatches_done = 320,
                                 .minibatches_of_epoch = 20,
                                 .version = weight_version{320},
                                 .seed = 1,
                                 .batch = 64,
                                 .train_samples = 6400,
                                 .model = "input: [4]\nlayers: [{linear: {out: 2}}]\n"};
    const std::vector<checkpoint_stage> stages{
        {{0, 1}, stage_file_name(0, 2), 160, std::string(64, 'a')},
        {{1, 2}, stage_file_name(1, 2), 320, std::string(64, '0')}};
    const std::vector<checkpoint_stage> whole{
        {{0, 3}, stage_file_name(0, 1), 480, std::string(64, '7')}};
    std::vector<std::string> all{manifest_json(progress, stages)};
    progress.vocabulary_sha256 = std::string(64, '9');
    progress.optimizer = "adamw";
    all.push_back(manifest_json(progress, whole));
    return all;
}

} // namespace troupe::fuzz
