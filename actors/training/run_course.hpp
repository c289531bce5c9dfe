// The course of a run: in which phase it is, which answers it awaits, what comes next. A pure value; the trainer turns
// messages into calls on it and carries out the phase that it names.
//
//   phase          only if                  asked           answered by
//   measuring      the cut is left to       an agent        LayerTimes
//                  measured layer times
//   placing                                 agents          Spawned for every stage of every replica
//   restoring      the run resumes          own thread      WorkDone
//   connecting                              stages          StageReady of every stage of every replica
//   training       epochs are left          data source     StageEpochDone of every stage of every replica
//   evaluating     the epoch is whole       data source     EvaluationDone of the first replica's last stage
//   snapshotting   a checkpoint is due      stages          Snapshot of every stage of the first replica
//   writing                                 own thread      WorkDone
//   finished       (then training again,    nobody
//                  or this)
//
// A stop before training ends the run at once, and so does a second one; otherwise the epoch under way is cut short, a
// checkpoint is written if the run has any, and no further epoch begins. A failure ends it from everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

#include "kernels/optim/run_shape.hpp"

namespace troupe {

enum class run_phase {
    measuring,
    placing,
    restoring,
    connecting,
    training,
    evaluating,
    snapshotting,
    writing,
    finished
};

struct run_course_options {
    bool measures = false;
    bool resumes = false;
    bool saves = false;
    std::uint32_t save_every_epochs = 1; // a checkpoint is also saved after the last epoch
    run_shape shape;
    std::uint32_t epochs_done = 0; // epochs of the run that is resumed
    std::uint64_t minibatches_done = 0;
};

class run_course {
  public:
    explicit run_course(const run_course_options& options);

    run_phase phase() const noexcept { return phase_; }
    bool stopping() const noexcept { return stopping_; }
    // The epoch that is running, or the next one.
    std::uint32_t epoch() const noexcept { return epoch_; }
    const run_shape& shape() const noexcept { return options_.shape; }
    bool saves() const noexcept { return options_.saves; } // checkpoints
    // No epoch follows the checkpoint that is due or being written.
    bool is_last() const { return stopping_ || epoch_ >= options_.shape.epochs; }
    std::uint64_t minibatches_done() const noexcept { return minibatches_done_; } // in all epochs
    // Minibatches of the epoch that were done before this run resumed it.
    std::uint64_t minibatches_done_of_epoch() const;
    // Returns whether the epoch may end after `minibatches` minibatches of this run.
    bool may_end_after(std::uint64_t minibatches) const;

    // Sets the number of the plan's stages, without and with their replicas. Must be called before a stage is asked.
    void set_stages(std::size_t stages, std::size_t with_replicas) noexcept {
        stages_ = stages;
        with_replicas_ = with_replicas;
    }

    // Counts an answer to the question of phase `asked`, of this stage where stages are asked; those of the second replica
    // count on from the first's. False if it is not due.
    bool take(run_phase asked, std::size_t stage = 0);
    bool complete() const;                // all answers of this phase are in
    bool awaits(std::size_t stage) const; // its answer is due and not in

    // lose_replica: the run goes on without a replica, and none of its answers is due any more. Returns true if the replica
    // was joining: then phase() is training again. join_replica: a replica that takes the place of a lost one is placed and
    // connected before the next epoch. It is called when training has been reached; then phase() is placing.
    // Both may be called only once training has begun.
    bool lose_replica(std::size_t replica);
    void join_replica(std::size_t replica);
    bool has_lost(std::size_t replica) const { return lost_.contains(replica * stages_); }
    bool is_joining(std::size_t replica) const { return joining_.contains(replica * stages_); }
    std::optional<std::size_t> first_lost() const;
    std::size_t replicas_left() const { return (with_replicas_ - lost_.size()) / stages_; }

    // Goes on from a complete phase to the phase that is returned. After training, the epoch may end for `minibatches`.
    run_phase advance(std::uint64_t minibatches = 0);

    // A person asks the run to end. True if it ends at once.
    bool stop();
    void fail() noexcept { phase_ = run_phase::finished; }

  private:
    std::size_t answers() const;
    bool is_due(std::size_t placement) const;
    run_phase after_epoch() const;

    run_course_options options_;
    run_phase phase_;
    std::size_t stages_ = 0;
    std::size_t with_replicas_ = 0;
    std::set<std::size_t> answered_;
    std::set<std::size_t> lost_;    // placements
    std::set<std::size_t> joining_; // placements: only these are placed and connected
    bool stopping_ = false;
    std::uint32_t epoch_;
    std::uint64_t minibatches_done_;
};

} // namespace troupe
