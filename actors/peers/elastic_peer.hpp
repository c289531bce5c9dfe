// Elastic averaging beside a replica (elastic_rule.hpp). That of the first replica keeps the centre.
//
// Where the centre moves it computes e once: what it adds to the centre is what the replica subtracts. A replica that is
// lost is met no more; with the first one the centre is lost, and all end.
#pragma once

#include <memory>
#include <vector>

#include "actors/peers/elastic_rule.hpp"
#include "actors/peers/peer_actor.hpp"
#include "actors/runtime/worker_board.hpp"

namespace troupe {

class elastic_peer final : public peer_actor {
  public:
    elastic_peer(actor_context& context, peer_options options, elastic_rule rule);

  private:
    void joined() override;
    void begin(tensor first) override;
    void exchange(tensor own, bool last) override;
    void read_common() override;
    void lose(std::uint32_t rank) override;
    void gain(std::uint32_t rank) override;
    tensor readable() const override { return centre_; }

    void meet(proto::Meet::Reader body, const frame& f);
    void met(proto::Met::Reader body, const frame& f);
    void move_all_if_complete();
    void show_waits();
    void move_centre(std::vector<std::uint32_t> ranks);

    // Who waits for the centre to move.
    struct visitor {
        tensor own;
        std::uint64_t minibatch = none;
        std::uint64_t meetings = 0;
        std::uint64_t met_at = 0; // by moves of the centre
    };

    const elastic_rule rule_;
    bool meets_ = false; // the answer of the centre is due

    // Of the first replica.
    tensor centre_;
    std::uint64_t moves_ = 0; // of the centre
    elastic_round round_{0};
    std::vector<visitor> visitors_;                                          // by rank
    std::shared_ptr<worker_board> board_ = std::make_shared<worker_board>(); // for inspectors
};

} // namespace troupe
