// The agreement of replicas that update together: their reducers sum the gradients, beginning while
// the last backward pass before the update runs (schemas/collective.capnp).
#pragma once

#include "actors/pipeline/stage/agreement.hpp"

namespace troupe {

class summed_agreement final : public agreement {
  public:
    summed_agreement(stage_port& stage, stage_companion reducers)
        : agreement{stage}, reducer_{reducers.own}, by_replica_{std::move(reducers.by_replica)} {}

    result<void> connect(proto::ConnectStage::Reader) override {
        return join_reduction(stage(), reducer_, by_replica_);
    }
    bool is_waiting() const override { return now_ == phase::summing; }
    std::shared_ptr<gradient_buckets> begin_sum(const instruction& backward) override;
    void take_gradients(std::vector<tensor> sum) override;
    bool take_update() override;
    void update_begun() override { now_ = phase::adding_up; }
    bool updates_together() const override { return true; }
    bool take(const frame_ptr& f) override;
    bool is_companion(actor_address who) const override { return who == reducer_; }
    std::optional<noticed_loss> lose(actor_address who, const error& why) const override;

  private:
    enum class phase : std::uint8_t {
        adding_up, // sums the gradients of this replica's microbatches
        summing,   // the reducer has some of the gradients, or all
        summed,    // the stage's gradients are those of all replicas
    };
    void begin();
    void submit(std::size_t first, std::vector<tensor> own);
    std::ptrdiff_t averages() const;

    actor_address reducer_;
    std::vector<actor_address> by_replica_;
    phase now_ = phase::adding_up;
    std::uint64_t reduction_ = none; // number of the last reduction that has begun
};

} // namespace troupe
