// Asynchronous ADMM: the rule for changes of the consensus. Pure.
//
// Replica i minimises f_i(x) + l_i x + rho / 2 |x - z|^2 by some updates of x, reports x + l_i / rho, and waits for the
// consensus z; then l_i becomes l_i + rho (x - z). z becomes the mean of every replica's last report when as many
// replicas as the quorum have reported since its last change (partial barrier) and no report is older than the delay allows
// (bounded delay). It is sent to the replicas that have reported. With a quorum of all, or a delay of one, this is
// synchronous ADMM. At the end of an epoch all replicas report and wait for all. Source: Zhang and Kwok 2014.
//
// Each stage of a pipeline has its own barrier. Where not all replicas report every time, a replica may have reported more
// often than another in one stage and less often in another stage; the two could then wait for each other forever. A
// pipeline of several stages therefore takes synchronous ADMM only, where a replica waits only for replicas that have made
// fewer updates, in every stage.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {

struct admm_rule {
    float penalty = 1;        // rho
    std::uint32_t period = 1; // updates between two reports
    std::uint32_t quorum = 1;
    std::uint32_t delay = 1;
};

class admm_barrier {
  public:
    admm_barrier(const admm_rule& rule, std::size_t replicas) : rule_{rule}, replicas_(replicas) {}

    // A replica reports and waits; `last`: for the last time in its epoch. False: it waits already, or is lost.
    bool report(std::uint32_t replica, bool last);
    void lose(std::uint32_t replica); // no longer waited for
    // Another replica takes the place of a lost one.
    void gain(std::uint32_t replica) { replicas_[replica] = {}; }
    bool may_step() const noexcept;
    // The replica that one that has reported waits for: of those that have not, the one with the oldest report. None if a
    // step that may be made answers it.
    std::optional<std::uint32_t> waits_for(std::uint32_t replica) const noexcept;
    // Counts a change of the consensus; returns the replicas to which it is to be sent, in ascending order.
    std::vector<std::uint32_t> step();
    // Changes of the consensus since the first one that included the replica's last report.
    std::uint32_t age_of(std::uint32_t replica) const noexcept { return replicas_[replica].age; }
    bool lives(std::uint32_t replica) const noexcept { return !replicas_[replica].lost; }

  private:
    struct state {
        bool lost = false;
        bool reported = false;
        bool finished = false; // has finished the epoch
        std::uint32_t age = 0;
    };

    bool all_finished() const noexcept;

    admm_rule rule_;
    std::vector<state> replicas_;
};

} // namespace troupe
