// The checkpoints of a run, which a background thread reads and writes: the weights that the run starts from, and snapshots
// of all its stages, checked against the model.
//
// One checkpoint is read or written at a time; `done` is called in the actor, with the checkpoint's folder or with what has
// failed. The snapshots of a checkpoint that could not be written are kept, so that it may be written later.
//
// Threads: its actor's; the work is done on `io`. Ownership: a member of the actor, like the work_queue that it has.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/data/samples/dataset.hpp"
#include "actors/runtime/work_queue.hpp"
#include "actors/training/plan/plan.hpp"
#include "actors/training/run_course.hpp"
#include "transport/frame/frame.hpp"

namespace troupe {

class trainer_checkpoint {
  public:
    struct outcome {
        result<std::string> folder;
        std::optional<error> undeleted = {}; // older checkpoints that should be gone
    };
    using done_handler = std::function<void(const outcome&)>;

    trainer_checkpoint(actor& owner, std::shared_ptr<device> io, done_handler done);

    // Makes the weights of these stages.
    void restore(std::shared_ptr<const loaded_checkpoint> from,
                 const std::vector<planned_stage>& stages);
    // The weights of a stage; null: fresh weights. After restore() it may be called only when `done` has been.
    const weights* restored(std::size_t stage) const;
    void let_go(); // of the restored weights, and of snapshots

    void keep(std::size_t stage, frame_ptr snapshot);
    // Writes the snapshots, which have been kept of all stages, and lets go of them once they are written.
    void write(std::shared_ptr<checkpoint_store> store, const checkpoint_progress& progress,
               const std::vector<planned_stage>& stages);

  private:
    std::shared_ptr<device> io_;
    done_handler done_;
    std::vector<frame_ptr> snapshots_; // by stage
    // By stage; written by the background thread while it restores. Null: fresh weights.
    std::shared_ptr<std::vector<weights_ptr>> restored_;
    work_queue work_;
};

// The progress that a checkpoint of this moment has. `version`: of its weights.
checkpoint_progress progress_of(const run_course& course, weight_version version,
                                proto::App::Reader app, const data_sets& data);

} // namespace troupe
