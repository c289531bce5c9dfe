// Gossip: the choice of the replica to meet, and the replies to replicas that want to meet. Pure.
//
// A meeting is between two replicas: one draws the other at random and sends its weights; the other moves half of the way
// and answers with its step, by which the first moves the other half. The sum of both is preserved, and no replica's
// weights are in two meetings at a time, so a meeting never increases the variance over replicas. A replica that is met
// while it awaits an answer itself replies that it is busy; nobody waits for a replica that waits, so there is no deadlock.
// Two replicas that choose each other meet once: the request of the lower rank stands. Source: Jin, Yuan, Iandola and
// Keutzer 2016.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schemas/base/random.hpp"

namespace troupe {

struct gossip_rule {
    std::uint64_t seed = 0;
};

class gossip {
  public:
    enum class reply { move, busy, silence };

    gossip(const gossip_rule& rule, std::uint32_t rank, std::size_t ranks);

    // Draws one of the live replicas, all equally likely, and awaits its answer. None if an answer is awaited already or no
    // other replica lives.
    std::optional<std::uint32_t> choose();
    // The reply to a replica that wants to meet this one: move towards it and answer, or answer that it is busy; silence
    // where this replica's own request to it stands.
    reply meet(std::uint32_t from);
    // The answer to this replica's request has arrived; false if none is awaited from there.
    bool met(std::uint32_t from);
    void lose(std::uint32_t rank); // no answer will come from it
    void gain(std::uint32_t rank); // replaces a lost one
    bool waits() const noexcept { return awaited_.has_value(); }

  private:
    std::uint32_t rank_;
    std::vector<std::uint32_t> others_; // live ranks
    std::optional<std::uint32_t> awaited_;
    random_stream random_;
};

} // namespace troupe
