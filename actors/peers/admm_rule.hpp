// Asynchronous ADMM: when the common weights change. Pure.
//
// Replica i minimises f_i(x) + l_i x + rho / 2 |x - z|^2 by some updates, of x, reports x + l_i / rho, and waits for the
// common weights z; then l_i becomes l_i + rho (x - z). z becomes the mean of what each replica has reported last, when as
// many as the quorum have reported since the last time (partial barrier), and nobody's report is older than the delay allows
// (bounded delay); it goes to those who have reported. With a quorum of all, or a delay of one, this is synchronous ADMM. At
// the end of an epoch all report, and wait for all. Source: Zhang and Kwok 2014.
//
// Each stage of a pipeline has a barrier of its own. Where not all report every time, replicas come to have reported more
// often than others in one stage and less often in another: then the first may wait there for the second, and the second
// here for the first, for ever. A pipeline of several stages therefore takes synchronous ADMM alone, in which a replica
// waits for those alone that have made fewer updates, in every stage.
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

    // A replica reports and waits; `last`: of its epoch. False: it waits already, or was lost.
    bool report(std::uint32_t replica, bool last);
    void lose(std::uint32_t replica); // it is waited for no more
    void gain(std::uint32_t replica) {
        replicas_[replica] = {};
    } // another has the place of a lost one
    bool may_step() const noexcept;
    // For whom a replica that has reported waits: of those that have not the one whose report is oldest. Nobody, if it is
    // answered by a step that may be made.
    std::optional<std::uint32_t> waits_for(std::uint32_t replica) const noexcept;
    // The common weights change. Who has waited for that, in their order.
    std::vector<std::uint32_t> step();
    // Changes since the one that a replica's report went into first.
    std::uint32_t age_of(std::uint32_t replica) const noexcept { return replicas_[replica].age; }
    bool lives(std::uint32_t replica) const noexcept { return !replicas_[replica].lost; }

  private:
    struct state {
        bool lost = false;
        bool reported = false;
        bool finished = false; // the epoch
        std::uint32_t age = 0;
    };

    bool all_finished() const noexcept;

    admm_rule rule_;
    std::vector<state> replicas_;
};

} // namespace troupe
