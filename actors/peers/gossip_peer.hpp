// The peer of a replica under gossip (gossip_rule.hpp), colocated with its stage. The stage gets its weights back at once,
// moved by the meetings since its last exchange; then this peer may choose another peer to meet while the stage trains on.
// At the end of an epoch the stage waits for the meeting under way.
#pragma once

#include <optional>

#include "actors/peers/gossip_rule.hpp"
#include "actors/peers/mixing_peer.hpp"

namespace troupe {

class gossip_peer final : public mixing_peer {
  public:
    gossip_peer(actor_context& context, peer_options options, const gossip_rule& rule);

  private:
    void joined() override;
    void exchange(tensor own, bool last) override;
    void lose(std::uint32_t rank) override;
    void gain(std::uint32_t rank) override;

    void meet(proto::Meet::Reader body, const frame& f);
    void met(proto::Met::Reader body, const frame& f);

    void give_back(tensor own, bool last);
    void end_if_free();
    // Adds half of the difference from `own_` to `other`, or factor times `step`, to `own_` and to `moved_`; `then` is
    // called with the step.
    void move_towards(const tensor& other, std::function<void(tensor)> then);
    void move_by(tensor step, float factor, std::function<void()> then);

    const gossip_rule rule_;
    std::optional<gossip> gossip_;
    tensor moved_;            // change since the stage's last answer; none: no change
    bool answer_due_ = false; // for the last exchange of an epoch
};

} // namespace troupe
