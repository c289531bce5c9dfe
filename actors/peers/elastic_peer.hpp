// The peer of a replica under elastic averaging (elastic_rule.hpp), colocated with its stage. The first replica's peer
// keeps the centre.
//
// The centre's peer computes each e once: what it adds to the centre is what the replica subtracts. A lost replica is not
// waited for; if the first one is lost, so is the centre, and the run ends.
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

    // A replica that waits for the centre to move.
    struct visitor {
        tensor own;
        std::uint64_t minibatch = none;
        std::uint64_t meetings = 0;
        std::uint64_t met_at = 0; // number of moves of the centre at the last meeting
    };

    const elastic_rule rule_;
    bool meets_ = false; // an answer of the centre is due

    // Used by the first replica only.
    tensor centre_;
    std::uint64_t moves_ = 0; // number of moves of the centre
    elastic_round round_{0};
    std::vector<visitor> visitors_;                                          // by rank
    std::shared_ptr<worker_board> board_ = std::make_shared<worker_board>(); // for inspectors
};

} // namespace troupe
