// The peer of a replica under Hogwild, colocated with its stage. After every update the stage gets back the weights that
// all replicas of the node share, to which the update has been added. Nobody waits, and nothing is sent to other nodes.
#pragma once

#include <memory>

#include "actors/peers/peer_actor.hpp"
#include "actors/peers/shared_weights.hpp"

namespace troupe {

class hogwild_peer final : public peer_actor {
  public:
    hogwild_peer(actor_context& context, peer_options options,
                 std::shared_ptr<shared_weights> shared);

  private:
    void begin(tensor first) override;
    void exchange(tensor own, bool last) override;
    void read_common() override;
    tensor readable() const override { return {}; }

    struct update {
        tensor before, after;
    };
    // Adds the update, if there is one, and reads the shared weights.
    void work(update add, std::function<void(tensor)> then);

    const std::shared_ptr<shared_weights> shared_;
    tensor read_; // the weights that the stage trains with
};

} // namespace troupe
