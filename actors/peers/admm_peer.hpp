// Asynchronous ADMM beside a replica (admm_rule.hpp). That of the first replica keeps the common weights.
//
// A stage hands over its weights after every update, and gets them back one step of the penalty further, with the update's
// learning rate: x - rate * (l + rho (x - z)). After so many it gets them when the common weights have changed.
// A replica that is lost is waited for no more; with the first one the common weights are lost, and all end.
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
    tensor dual_;               // l
    tensor common_;             // z, as this replica knows it; of the first as it is
    tensor own_;                // what was reported last
    std::uint32_t updates_ = 0; // since then

    // Of the first replica.
    std::optional<admm_barrier> barrier_;
    std::vector<tensor>
        reports_; // by rank: x + l / rho; of who has not reported yet what it began with
    std::vector<std::uint64_t> reports_taken_;                               // by rank
    std::shared_ptr<worker_board> board_ = std::make_shared<worker_board>(); // for inspectors
};

} // namespace troupe
