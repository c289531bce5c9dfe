// Gossip: whom a replica meets, and what it says to who wants to meet it. Pure.
//
// A meeting is between two: one chooses the other by lot and sends its weights, the other moves half of the way and answers
// by how much, so that the first moves the other half. The sum of both stays, and no replica's weights are in two meetings
// at a time, so the variance over replicas never grows by one. Who is chosen while it waits for an answer of its own says
// that it is busy; nobody waits for anybody who waits, so that no ring of them can. Two who choose each other meet once:
// what the lower rank asked for stands. Source: Jin, Yuan, Iandola and Keutzer 2016.
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

    // One of those that live, each as likely as the others; from now on its answer is awaited. Nobody where one is awaited
    // already, or nobody else lives.
    std::optional<std::uint32_t> choose();
    // Somebody wants to meet this rank: move towards it and answer, or answer that it is busy; silence where the own wish to
    // meet it stands.
    reply meet(std::uint32_t from);
    // The answer to the wish; false where none is awaited from there.
    bool met(std::uint32_t from);
    void lose(std::uint32_t rank); // no answer will come from it
    void gain(std::uint32_t rank); // another has the place of a lost one
    bool waits() const noexcept { return awaited_.has_value(); }

  private:
    std::uint32_t rank_;
    std::vector<std::uint32_t> others_; // that live
    std::optional<std::uint32_t> awaited_;
    random_stream random_;
};

} // namespace troupe
