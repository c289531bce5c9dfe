// Replicas that a run has lost, and those that take their places, until everybody concerned knows of them. A pure value.
//
//   a loss      lose            the data source is told, ReplicaLost
//               report          it answers, MinibatchesLost: the run says what it goes on without
//   a newcomer  join            its actors are asked for
//               expect          shards and peers are told of it, WorkerJoined and PeerJoined
//               confirm         they answer; the newcomer is connected when nobody is left that has yet to
//               tell_source     before the next epoch, ReplicaJoined
//
// A newcomer that is lost before that is told to nobody further. Which replicas are lost or joining is for run_course.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/training/plan/plan.hpp"
#include "actors/training/training_cast.hpp"
#include "schemas/base/ids.hpp"

namespace troupe {

// A run cannot go on without its first replica, which evaluates, nor without one that has a shard, whose weights are nowhere
// else. With several stages and servers of nodes, no stage can leave its node's server alone.
bool can_go_on_without(std::uint32_t replica, const plan& p, const training_cast& cast);

class replica_changes {
  public:
    // `why`: what was lost, for report().
    void lose(std::uint32_t replica, std::string why);
    // Why this replica was lost, once; none if the data source was not told of it.
    std::optional<std::string> report(std::uint32_t replica);

    void join(std::uint32_t replica) { joined_.push_back(replica); }
    void expect(actor_address who) { expecting_.insert(who); }
    bool confirm(actor_address who); // false if it was not told of a newcomer
    void excuse(actor_address who) { expecting_.erase(who); } // it is lost, too
    bool is_expecting() const noexcept { return !expecting_.empty(); }
    // The newcomers that the data source does not know of, once.
    std::vector<std::uint32_t> tell_source() { return std::exchange(joined_, {}); }

  private:
    std::vector<std::pair<std::uint32_t, std::string>> lost_; // with the reason
    std::vector<std::uint32_t> joined_;      // that the data source does not know of yet
    std::multiset<actor_address> expecting_; // have yet to confirm
};

} // namespace troupe
