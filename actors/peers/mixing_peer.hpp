// Peers without a centre: the consensus is the mean over all replicas.
#pragma once

#include <vector>

#include "actors/peers/peer_actor.hpp"

namespace troupe {

class mixing_peer : public peer_actor {
  protected:
    mixing_peer(actor_context& context, peer_options options);

    void joined() override { gone_.resize(members().size()); }
    void begin(tensor first) override { own_ = std::move(first); }
    void read_common() override;
    void lose(std::uint32_t rank) override;
    void gain(std::uint32_t rank) override { gone_[rank] = false; }
    tensor readable() const override { return own_; }
    void take_read_weights(std::uint32_t rank, tensor weights) override;

    bool lives(std::uint32_t rank) const noexcept { return !gone_[rank]; }

    // The replica's weights as last answered or moved by this peer.
    tensor own_;

  private:
    void average_if_complete();

    std::vector<bool> gone_;   // by rank
    std::vector<tensor> read_; // by rank; empty when nothing is being read
};

// The mean of these rows.
result<tensor> mean_of(compute_context& context, const std::vector<tensor>& rows);

} // namespace troupe
