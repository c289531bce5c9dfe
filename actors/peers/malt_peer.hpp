// The peer of a replica under MALT (malt_graph.hpp), colocated with its stage. A stage that hands over its weights gets
// back at once the aggregate of its own and those that have arrived since its last exchange; its own are sent along its
// out-edges. Nobody waits. Weights that arrive replace unused ones of the same sender.
#pragma once

#include <vector>

#include "actors/peers/malt_graph.hpp"
#include "actors/peers/mixing_peer.hpp"
#include "kernels/optim/aggregation.hpp"

namespace troupe {

class malt_peer final : public mixing_peer {
  public:
    malt_peer(actor_context& context, peer_options options, proto::MaltGraph graph,
              const aggregation& how);

  private:
    void joined() override;
    void exchange(tensor own, bool last) override;
    void lose(std::uint32_t rank) override;
    void gain(std::uint32_t rank) override;

    void scatter(proto::Scatter::Reader body, const frame& f);
    void send_on(const tensor& own);

    const proto::MaltGraph graph_;
    const aggregation how_;
    std::vector<std::uint32_t> live_;
    newest_stamps stamps_{0};
    std::vector<tensor> arrived_; // by rank; empty: nothing new
    std::uint64_t next_stamp_ = 0;
};

} // namespace troupe
