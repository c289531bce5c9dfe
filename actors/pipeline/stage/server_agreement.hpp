// The agreement of replicas that push gradients to a parameter server and take their weights from
// it, through a cache for each replica or one for all of a node (schemas/params.capnp).
#pragma once

#include "actors/pipeline/stage/agreement.hpp"

namespace troupe {

class server_agreement final : public agreement {
  public:
    // `shards`: the server's; its own, perhaps none, starts with this stage's weights.
    server_agreement(stage_port& stage, actor_address cache, stage_companion shards)
        : agreement{stage}, cache_{cache}, shard_{shards.own}, shards_{
                                                                   std::move(shards.by_replica)} {}

    result<void> connect(proto::ConnectStage::Reader) override;
    void join() override;
    void begin_epoch() override;
    bool is_waiting() const override {
        return now_ == phase::entering || now_ == phase::fetching || now_ == phase::leaving ||
               now_ == phase::refreshing;
    }
    demand at_end() const override { return now_ == phase::left ? demand::nothing : demand::act; }
    void act_at_end() override;
    std::uint64_t reading() const override { return epoch_.fetches; }
    void gradients_complete(weight_version used, std::uint64_t reading) override;
    bool take_update() override;
    bool updates_together() const override { return true; }
    bool is_settled() const override { return now_ == phase::apart; }
    void settle() override;
    weight_version version() const override { return version_; }
    bool take(const frame_ptr& f) override;
    bool is_companion(actor_address who) const override { return who == cache_ || who == shard_; }
    std::optional<noticed_loss> lose(actor_address who, const error& why) const override;

  private:
    enum class phase : std::uint8_t {
        apart,      // between two epochs, with the server's weights
        entering,   // waits for the epoch's first weights
        inside,     // trains
        fetching,   // waits for the next weights
        leaving,    // waits until all replicas have ended the epoch
        left,       // between two epochs, with older weights
        refreshing, // waits for the server's weights and the optimizer's state
    };
    struct epoch_books {
        std::uint64_t fetches = 0; // since the epoch began
        std::uint64_t pushes = 0;
        std::uint64_t gradient_fetches = 0; // fetches before the forward pass of the next gradients
        std::vector<tensor> accrued;        // sum of the gradients that are yet to be pushed
        std::uint64_t accrued_fetches = 0; // fetches before the forward pass of the oldest of these
        std::uint64_t accrued_minibatch = 0; // the newest of these
        bool has_pushed = false;             // since the last fetch
    };
    void hand_over();
    void accrue(std::vector<tensor> gradients);
    void push_or_step(const std::vector<tensor>& gradients);
    void push_accrued(bool fetch);
    void push(std::vector<tensor> gradients, std::uint64_t minibatch, std::uint64_t fetches,
              bool fetch);
    void fetched(const frame_ptr& f);
    void step_alone(std::vector<tensor> from, std::vector<tensor> gradients);
    void adopt(std::vector<tensor> parameters, std::vector<tensor> averages);
    void refreshed(const frame& f);

    actor_address cache_, shard_;
    std::vector<actor_address> shards_; // by replica
    phase now_ = phase::apart;
    // The server's after the last epoch, which may have had fewer updates than minibatches.
    weight_version version_;
    epoch_books epoch_;
    std::vector<tensor> statistics_; // of the offered minibatch, for running averages
};

} // namespace troupe
