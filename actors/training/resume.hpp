// The checkpoints of a training job: the folder that it saves into, and whether it can go on from what is there.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/data/samples/dataset.hpp"
#include "schemas/app.capnp.h"

namespace troupe {

struct checkpoints {
    std::shared_ptr<checkpoint_store> store;         // null: the app saves nothing
    std::shared_ptr<const loaded_checkpoint> resume; // null: the run begins anew
    // One sentence for each part of the checkpoint that is left out or is taken as something else.
    std::vector<std::string> notes;
};

// Opens the app's checkpoint folder, and with `resume` loads its latest checkpoint. Blocks on files.
// Errors: errc::usage if `resume` does not fit the folder, or the checkpoint is of another model, data or batch; errc::data
// if it is damaged, with the folders to delete to go on from an older one.
result<checkpoints> open_checkpoints(proto::App::Reader app, const data_sets& data, bool resume);

// Compares the hashes of two vocabularies' files, of which either may be unknown (empty).
bool is_another_vocabulary(const std::string& learned, const std::string& at_hand) noexcept;

} // namespace troupe
