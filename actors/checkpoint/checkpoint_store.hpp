// Checkpoints on disk: all of a run's weights at one moment, or nothing.
//
//     DIRECTORY/epoch-0003/manifest.json               format, progress, model, stages, SHA-256 of files, counts of updates
//     DIRECTORY/epoch-0003/stage-0-of-2.safetensors    "layers.0.weight", "momentum_buffer.layers.0.weight"
//     DIRECTORY/epoch-0003/stage-1-of-2.safetensors
//
// The number is of whole epochs; one taken in the middle of the fourth is
// DIRECTORY/epoch-0003-plus-0120-minibatches.
//
// A checkpoint is written into a hidden folder beside the others, synced, and renamed into place:
// whoever looks sees a whole checkpoint or none. A failed write (disk full) removes what it wrote
// and leaves the older ones alone; what a killed process left is removed by the next one that opens
// the folder. Tensor names are those of the whole model, so that a checkpoint loads onto any cut
// into stages.
//
// Threads: one at a time. Blocks on files: not for an actor's thread. One process per folder (a
// lock on it). Errors: errc::io with the file's name if the system refuses, errc::data for a
// damaged or foreign checkpoint, errc::usage if another run uses the folder, errc::numeric for
// weights to save that are not finite.
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

// How far a run has come, and what run it is.
struct checkpoint_progress {
    std::uint32_t epochs_done = 0;
    std::uint64_t minibatches_done = 0;     // over the whole run; larger means later
    std::uint64_t minibatches_of_epoch = 0; // of these, since the last whole epoch
    weight_version version;                 // of all stages
    std::uint64_t seed = 0;
    std::uint32_t batch = 0;         // samples per minibatch of the epoch after these
    std::uint64_t train_samples = 0; // in an epoch
    std::string model; // the model as text (render_model); another text is another model
    // Of the file of the vocabulary whose tokens it has learned; empty without one, or where that is not known.
    std::string vocabulary_sha256;
    // Its word in the app file; empty where none has trained, or it is not known.
    std::string optimizer;

    friend bool operator==(const checkpoint_progress&, const checkpoint_progress&) = default;
};

// Updates that an optimizer has made of a stage's parameters: of all as many, or by their names.
using update_counts =
    std::variant<std::uint64_t, std::map<std::string, std::uint64_t, std::less<>>>;

struct checkpoint_stage {
    layer_range layers;
    std::string file; // "stage-0-of-2.safetensors"
    std::uint64_t bytes = 0;
    std::string sha256; // 64 hexadecimal digits
    update_counts updates;
};

// A manifest.
struct checkpoint_info {
    std::filesystem::path folder; // ".../epoch-0003"
    checkpoint_progress progress;
    std::vector<checkpoint_stage> stages;
    // Whether the stages have their counts of updates: earlier builds took the version for all of them.
    bool counts_updates = true;
};

// One stage's tensors on their way into a checkpoint, named as in weights_layout. The bytes must live until write_stage
// returns.
struct stage_tensors {
    layer_range layers;
    std::vector<named_tensor> tensors;
    update_counts updates;
};

// Tensors of this layout by their names; their bytes live as long as they do.
std::vector<named_tensor> named_tensors(const weights_layout& layout,
                                        std::span<const tensor> tensors);

// Of as many counts as this layout has parameters, in their order.
update_counts counts_of(const weights_layout& layout, std::span<const std::uint64_t> counts);

// A checkpoint in the making: every stage once, in any order, then commit. Destroyed before that,
// it leaves nothing.
class checkpoint_writer {
  public:
    checkpoint_writer(checkpoint_writer&&) noexcept;
    checkpoint_writer& operator=(checkpoint_writer&&) noexcept;
    ~checkpoint_writer();

    // Writes and syncs the file of stage `index`, whose numbers must be finite. After an error only destruction makes sense.
    result<void> write_stage(stage_index index, const stage_tensors& stage);

    // Writes the manifest, moves the checkpoint into place (over one of the same moment) and deletes
    // all but the newest `keep`. All stages must have been written and must cover the layers
    // without gaps.
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

    // errc::data naming the first tensor with a number that is not finite: nothing can train on from it.
    result<void> check_finite() const;

    // The weights of a stage of this layout, whatever cut they were saved from, in memory of `memory`. What an optimizer
    // keeps is zero if it was not saved, and so is the count of its updates of that parameter. errc::data if another tensor
    // or a count is missing or one has another shape than the model wants.
    result<weights_ptr> restore(const weights_layout& layout, memory_pool& memory) const;

  private:
    std::optional<std::uint64_t> updates_of(std::string_view parameter) const;

    checkpoint_info info_;
    std::vector<safetensors_file> files_;
};

class checkpoint_store {
  public:
    struct options {
        std::filesystem::path directory; // made when missing; removed again if nothing is saved
        std::uint32_t keep = 2;          // checkpoints kept by commit; at least 1
    };

    // For writing: makes and locks the folder and removes what a killed process left half-written.
    static result<checkpoint_store> open(options o);
    checkpoint_store(checkpoint_store&&) noexcept;
    checkpoint_store& operator=(checkpoint_store&&) noexcept;
    ~checkpoint_store();

    // The store must outlive the writer; one writer at a time. A run that does not resume must not
    // write into a folder with checkpoints of another run: ask latest() first.
    result<checkpoint_writer> begin(const checkpoint_progress& progress, std::size_t stages);

    // The checkpoint that has come furthest; empty if there is none.
    result<std::optional<checkpoint_info>> latest() const;

  private:
    struct state;
    explicit checkpoint_store(std::unique_ptr<state> s) noexcept;
    std::unique_ptr<state> state_;
};

// For reading, without a lock. Checkpoints of a folder, oldest first; none if the folder does not
// exist. A damaged manifest is an error that names it.
result<std::vector<checkpoint_info>> list_checkpoints(const std::filesystem::path& directory);
result<checkpoint_info> read_manifest(const std::filesystem::path& checkpoint_folder);
result<loaded_checkpoint> load_checkpoint(const checkpoint_info& info);

} // namespace troupe
