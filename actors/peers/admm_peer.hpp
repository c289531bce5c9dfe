// The peer of a replica under asynchronous ADMM (admm_rule.hpp), colocated with its stage. The first replica's peer keeps
// the consensus.
//
// A stage hands over its weights after every update and gets them back one step of the penalty further, with the update's
// learning rate: x - rate * (l + rho (x - z)). After every `period` updates it gets the consensus, once
// that has changed. A lost replica is not waited for; if the first one is lost, so is the consensus, and the run ends.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "actors/peers/admm_rule.hpp"
#include "actors/peers/peer_actor.hpp"
#include "actors/runtime/worker_board.hpp"

namespace troupe {

class admm_peer final : public peer_actor {
  public:
    admm_peer(actor_context& context, peer_options options, const admm_rule& rule);

  private:
    void joined() override;
    void begin(tensor first) override;
    void exchange(tensor own, bool last) override;
    void read_common() override;
    void lose(std::uint32_t rank) override;
    void gain(std::uint32_t rank) override;
    tensor readable() const override { return rank() == 0 ? common_ : tensor{}; }

    void take_report(proto::Report::Reader body, const frame& f);
    void consensus(proto::Consensus::Reader body, const frame& f);

    void report(tensor own, bool last);
    void step_if_may();
    void show_waits();

    const admm_rule rule_;
    tensor dual_; // l
    // z; at replicas other than the first, as last received.
    tensor common_;
    tensor own_;                // the weights reported last
    std::uint32_t updates_ = 0; // updates since then

    // Used by the first replica only.
    std::optional<admm_barrier> barrier_;
    // By rank: the last report, x + l / rho; before the first one the initial weights.
    std::vector<tensor> reports_;
    std::vector<std::uint64_t> reports_taken_;                               // by rank
    std::shared_ptr<worker_board> board_ = std::make_shared<worker_board>(); // for inspectors
};

} // namespace troupe
