// The agreement of replicas that update on their own and exchange weights: through a peer colocated
// with each replica (schemas/peers.capnp), or with local SGD through its reducer in the peer's place.
#pragma once

#include "actors/pipeline/stage/agreement.hpp"
#include "actors/pipeline/stage/exchange_course.hpp"

namespace troupe {

class exchanged_agreement final : public agreement {
  public:
    // `peers`: with local SGD the reducers.
    exchanged_agreement(stage_port& stage, stage_companion peers)
        : agreement{stage}, course_{*options().agreement.sync.exchange}, peers_{std::move(peers)} {}

    result<void> connect(proto::ConnectStage::Reader body) override;
    void join() override;
    void begin_epoch() override;
    bool is_waiting() const override { return common_ == common::asked; }
    demand before_pass() const override;
    demand at_end() const override;
    void act() override;
    void act_at_end() override;
    bool is_settled() const override { return common_ == common::known; }
    void settle() override;
    bool take(const frame_ptr& f) override;
    bool is_companion(actor_address who) const override { return who == peers_.own; }
    std::optional<noticed_loss> lose(actor_address who, const error& why) const override;

  private:
    // The consensus of all replicas, as far as this stage has them.
    enum class common : std::uint8_t { known, unknown, asked };

    bool is_mean() const { return peers_.role == run_role::reducer; } // local SGD
    actor_address first_peer() const { return peers_.by_replica[0]; }
    void hand_over(bool last);
    template <class Body>
    void send_weights(frame_builder<Body> message, const std::function<void()>& then = nullptr);
    void exchanged(const frame_ptr& f);
    void take_common(const frame_ptr& f);
    void add_up();
    std::shared_ptr<weights> with_exchanged(const frame& f) const;

    exchange_course course_;
    stage_companion peers_; // or reducers
    common common_ = common::known;
    frame_ptr addition_; // the Exchanged to add to the weights
    // The version of the first weights, until they come, of a replica that joins peers at work.
    std::optional<weight_version> joins_at_;
};

} // namespace troupe
