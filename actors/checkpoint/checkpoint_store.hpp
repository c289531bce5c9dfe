// Checkpoints on disk: all weights of a run at one moment, written atomically.
//
//     DIRECTORY/epoch-0003/manifest.json               format, progress, model, stages, SHA-256 of files, counts of updates
//     DIRECTORY/epoch-0003/stage-0-of-2.safetensors    "layers.0.weight", "momentum_buffer.layers.0.weight"
//     DIRECTORY/epoch-0003/stage-1-of-2.safetensors
//
// The number counts whole epochs; a checkpoint taken in the middle of the fourth epoch is
// DIRECTORY/epoch-0003-plus-0120-minibatches.
//
// A checkpoint is written into a hidden folder next to the others, synced, and renamed into place, so that readers see a
// whole checkpoint or none. A failed write (disk full) removes its own files and leaves older checkpoints untouched; files
// left by a killed process are removed by the next process that opens the folder. Tensor names are those of the whole
// model, so that a checkpoint loads onto any partition into stages.
//
// Threads: one at a time. Blocks on files, so not for an actor's thread. One process per folder, which is locked. Errors:
// errc::io with the file's name if a system call fails, errc::data for a damaged or foreign checkpoint, errc::usage if
// another run uses the folder, errc::numeric if weights to save are not finite.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "actors/checkpoint/safetensors.hpp"
#include "kernels/graph/weights.hpp"
#include "schemas/base/ids.hpp"

namespace troupe {

// Progress of a run, and its identity.
struct checkpoint_progress {
    std::uint32_t epochs_done = 0;
    std::uint64_t minibatches_done = 0;     // over the whole run; larger means later
    std::uint64_t minibatches_of_epoch = 0; // of these, since the last whole epoch
    weight_version version;                 // of all stages
    std::uint64_t seed = 0;
    std::uint32_t batch = 0;         // samples per minibatch from here on
    std::uint64_t train_samples = 0; // per epoch
    // The model as text (render_app); runs are of the same model only if the texts are equal.
    std::string model;
    // SHA-256 of the file of the vocabulary that the model was trained with; empty without one, or if unknown.
    std::string vocabulary_sha256;
    // The optimizer's name in the app file; empty if none was used or if unknown.
    std::string optimizer;
    std::uint32_t epochs = 0; // that the run was to have; 0 if unknown

    friend bool operator==(const checkpoint_progress&, const checkpoint_progress&) = default;
};

// Optimizer updates of a stage's parameters: one number for all, or numbers by parameter name.
using update_counts =
    std::variant<std::uint64_t, std::map<std::string, std::uint64_t, std::less<>>>;

struct checkpoint_stage {
    layer_range layers;
    std::string file; // "stage-0-of-2.safetensors"
    std::uint64_t bytes = 0;
    std::string sha256; // 64 hexadecimal digits
    update_counts updates;
};

// The contents of a manifest.
struct checkpoint_info {
    std::filesystem::path folder; // ".../epoch-0003"
    checkpoint_progress progress;
    std::vector<checkpoint_stage> stages;
    // True if the manifest has counts of updates: earlier builds used the version for all parameters.
    bool counts_updates = true;
};

// One stage's tensors to be saved, named as in weights_layout. The bytes must stay valid until write_stage returns.
struct stage_tensors {
    layer_range layers;
    std::vector<named_tensor> tensors;
    update_counts updates;
};

// Tensors of this layout with their names. They point to the bytes of `tensors`, and are valid as long as those.
std::vector<named_tensor> named_tensors(const weights_layout& layout,
                                        std::span<const tensor> tensors);

// Update counts for this layout, from one count for each of its parameters, in order.
update_counts counts_of(const weights_layout& layout, std::span<const std::uint64_t> counts);

// A checkpoint being written: every stage once, in any order, then commit(). If destroyed before commit() it leaves no
// files.
class checkpoint_writer {
  public:
    checkpoint_writer(checkpoint_writer&&) noexcept;
    checkpoint_writer& operator=(checkpoint_writer&&) noexcept;
    ~checkpoint_writer();

    // Writes and syncs the file of stage `index`, whose numbers must be finite. After an error the writer can only be
    // destroyed.
    result<void> write_stage(stage_index index, const stage_tensors& stage);

    // Writes the manifest and moves the checkpoint into place (replacing one of the same moment). All stages must have been
    // written and must cover the layers without gaps.
    result<checkpoint_info> commit();

  private:
    friend class checkpoint_store;
    struct state;
    explicit checkpoint_writer(std::unique_ptr<state> s) noexcept;
    std::unique_ptr<state> state_;
};

// A checkpoint's tensors in memory, checked against the manifest's sizes and hashes.
class loaded_checkpoint {
  public:
    loaded_checkpoint(checkpoint_info info, std::vector<safetensors_file> files);

    const checkpoint_info& info() const noexcept { return info_; }
    const std::vector<safetensors_file>& files() const noexcept { return files_; }
    const named_tensor* find(std::string_view name) const noexcept; // nullptr if there is none

    // errc::data with the name of the first tensor that has a number that is not finite; training cannot continue from it.
    result<void> check_finite() const;

    // The weights of a stage of this layout in memory of `memory`, whatever partition they were saved from. Optimizer state
    // that was not saved is zero, and so is the count of that parameter's updates. errc::data if another tensor or a count
    // is missing, or a shape differs from the model's.
    result<weights_ptr> restore(const weights_layout& layout, memory_pool& memory) const;

  private:
    std::optional<std::uint64_t> updates_of(std::string_view parameter) const;

    checkpoint_info info_;
    std::vector<safetensors_file> files_;
};

class checkpoint_store {
  public:
    struct options {
        std::filesystem::path directory; // made when missing, removed if nothing is saved
        std::uint32_t keep = 2;          // checkpoints kept by delete_older; at least 1
    };

    // For writing: makes and locks the folder and removes partial checkpoints of killed processes.
    static result<checkpoint_store> open(options o);
    checkpoint_store(checkpoint_store&&) noexcept;
    checkpoint_store& operator=(checkpoint_store&&) noexcept;
    ~checkpoint_store();

    // The store must outlive the writer; one writer at a time. A run that does not resume must not write into a folder with
    // another run's checkpoints: call latest() first.
    result<checkpoint_writer> begin(const checkpoint_progress& progress, std::size_t stages);

    // Deletes all but the newest `keep`. Apart from commit(), as a checkpoint is saved whether others go or stay.
    result<void> delete_older();

    // The checkpoint of most progress; empty if there is none.
    result<std::optional<checkpoint_info>> latest() const;

  private:
    struct state;
    explicit checkpoint_store(std::unique_ptr<state> s) noexcept;
    std::unique_ptr<state> state_;
};

// For reading, without a lock. Checkpoints of a folder, oldest first; none if the folder does not exist. A damaged manifest
// is an error with its name.
result<std::vector<checkpoint_info>> list_checkpoints(const std::filesystem::path& directory);
result<checkpoint_info> read_manifest(const std::filesystem::path& checkpoint_folder);
result<loaded_checkpoint> load_checkpoint(const checkpoint_info& info);

} // namespace troupe
