// A stage's part in an evaluation: batches go down the pipeline of the first replica, and its last
// stage computes their loss. It uses the settled weights between two epochs.
//
// A part of a stage: it knows the stage by stage_port alone. Threads: the stage's.
#pragma once

#include <deque>

#include "actors/pipeline/stage/stage_port.hpp"
#include "kernels/graph/model_loss.hpp"

namespace troupe {

class stage_evaluation {
  public:
    explicit stage_evaluation(stage_port& stage) : stage_{stage} {}

    // Accepts EvaluationBatch, EvaluationLabels and EndOfEvaluation.
    void take(const frame_ptr& f);
    bool is_due() const noexcept { return !waiting_.empty(); }
    // Starts the next batch, or ends the evaluation. The stage's device must be idle and its weights
    // settled.
    void start();

  private:
    result<void> accept(const frame_ptr& f);
    void finish(std::uint64_t batch, actor_address asked_by, const tensor& output);
    void report();

    stage_port& stage_;
    std::deque<frame_ptr> waiting_; // EvaluationBatch and EndOfEvaluation in the order of arrival
    std::deque<frame_ptr> labels_;
    std::uint64_t next_batch_ = 0;
    std::uint64_t samples_ = 0;
    loss_result sums_;
};

} // namespace troupe
