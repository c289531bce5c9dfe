// The reports of the stages on one epoch: how far it has got, the weight versions that it ends with, and its figures. A pure
// value, made anew for each epoch.
//
//     tally_ = epoch_tally{{.epoch = 3, .stages = 2, ...}};
//     tally_.count(body, now())              // MinibatchDone: progress()
//     tally_.end_stage(body, now())          // StageEpochDone, once by each stage of each replica
//     tally_.evaluate(body, samples)         // EvaluationDone: the epoch's report
//
// Errors: errc::protocol, with the reason, for reports that contradict each other or cannot be; the run cannot go on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "actors/training/training_report.hpp"
#include "schemas/base/ids.hpp"
#include "schemas/training.capnp.h"

namespace troupe {

struct epoch_start {
    std::uint32_t epoch = 0;
    std::uint64_t samples = 0; // that the epoch has, or has left where it is resumed
    std::size_t stages = 0;    // of a replica
    std::size_t leader =
        0; // the first stage that has parameters, whose version counts as the run's
    bool classifies = false; // labels are classes, so that outputs can be right
    epoch_rates rates;
    weight_version version{}; // of the run before the epoch
    time_point began{};
};

class epoch_tally {
  public:
    explicit epoch_tally(const epoch_start& start = {});

    result<void> count(proto::MinibatchDone::Reader body, time_point now);
    const training_progress& progress() const noexcept { return progress_; }

    result<void> end_stage(proto::StageEpochDone::Reader body, time_point now);
    // The minibatches of the epoch, on which the reports of all stages agree; none before the first report.
    std::optional<std::uint64_t> minibatches() const noexcept { return minibatches_; }
    // The version that a stage has ended with. Those of stages may differ where parameter servers drop gradients.
    std::optional<weight_version> version_of(std::size_t stage) const { return versions_[stage]; }
    weight_version version() const noexcept { return start_.version; } // of the run

    // `samples`: number in the whole test set.
    result<epoch_report> evaluate(proto::EvaluationDone::Reader body, std::uint64_t samples) const;

  private:
    epoch_start start_; // the version moves on with the leader's
    training_progress progress_;
    std::optional<std::uint64_t> minibatches_;
    std::vector<std::optional<weight_version>> versions_; // by stage
    time_point ended_;                                    // when the latest report of a stage came
};

} // namespace troupe
