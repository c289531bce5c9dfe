// Weights outside of a run: from a checkpoint or from a safetensors file of another program, and back.
#pragma once

#include <filesystem>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/training/plan/training_app.hpp"
#include "actors/training/resume.hpp"

namespace troupe::cli {

// Version 0 of the weights of a whole model, without an optimizer's state, from what `from` names: a checkpoint (a folder
// with a manifest), the latest of a folder of checkpoints, or a safetensors file. Empty: the latest checkpoint of the app.
struct saved_weights {
    std::filesystem::path from; // what was found there
    weights_ptr weights;
    std::uint64_t minibatches = 0; // that they were trained with; 0 where a file does not say
    std::string
        vocabulary_sha256; // whose tokens they have learned; empty where a file does not say
};
// errc::usage where nothing is saved, errc::data for a file with other tensors than the model's.
result<saved_weights> load_weights(const training_app& app, const std::filesystem::path& from,
                                   memory_pool& memory);

// errc::usage where the app's vocabulary file, of this hash, is not the one that the weights have learned the tokens of.
result<void> check_vocabulary(const training_app& app, const std::string& at_hand,
                              const saved_weights& saved);

// Parameters and running averages as one safetensors file, replaced at once or not at all. Beside the averages of a batch
// norm stands the count that PyTorch's has, so that load_state_dict takes the file, strictly. How many tensors it holds.
result<std::size_t> save_weights(const std::filesystem::path& file, const weights_layout& layout,
                                 const saved_weights& saved);

} // namespace troupe::cli
