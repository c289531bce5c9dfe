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
    std::filesystem::path from; // the checkpoint or file that was found
    weights_ptr weights;
    std::uint64_t minibatches = 0; // number of minibatches of their training; 0 if unknown
    // Hash of the vocabulary whose tokens they have learned; empty if unknown.
    std::string vocabulary_sha256;
    std::vector<std::string> notes; // what may not be intended, a sentence each
};
// errc::usage if nothing is saved, errc::data for a file with other tensors than the model's, which are listed.
result<saved_weights> load_weights(const training_app& app, const std::filesystem::path& from,
                                   memory_pool& memory);

// errc::usage if the app's vocabulary file, whose hash is `at_hand`, is not the one that the weights were trained with.
result<void> check_vocabulary(const training_app& app, const std::string& at_hand,
                              const saved_weights& saved);

// Writes parameters and running averages as one safetensors file, replaced at once or not at all, and returns its number of
// tensors. A batch norm's averages come with the count that PyTorch's has, so that a strict load_state_dict takes the file.
result<std::size_t> save_weights(const std::filesystem::path& file, const weights_layout& layout,
                                 const saved_weights& saved);

} // namespace troupe::cli
