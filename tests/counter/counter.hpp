// A counting job: the rule by which its root counts, its role, its root, and its row. The protocol is counter.capnp.
#pragma once

#include <vector>

#include "actors/run/cast.hpp"
#include "actors/runtime/message_types.hpp"
#include "tests/counter/counter.capnp.h"
#include "tools/troupe/job.hpp"

namespace troupe::counter {

// What has been counted. A pure value.
class tally {
  public:
    tally(std::size_t workers, std::uint32_t rounds) : has_added_(workers), rounds_{rounds} {}

    std::uint64_t total() const noexcept { return total_; }
    std::uint32_t round() const noexcept { return round_; } // the one under way
    std::size_t adds() const noexcept { return adds_; }     // in this round
    bool is_over() const noexcept { return round_ == rounds_; }

    // False for a worker that has added in this round, or for another round. A round is over when all have added.
    bool take(std::size_t worker, std::uint32_t round, std::uint64_t amount);
    void end_after_this_round() noexcept { rounds_ = round_ + 1; }

  private:
    std::vector<bool> has_added_;
    std::size_t adds_ = 0;
    std::uint32_t rounds_;
    std::uint32_t round_ = 0;
    std::uint64_t total_ = 0;
};

using counter_messages = message_list<proto::CounterWorkerOptions, proto::Add, proto::Added>;

role worker_role();
actor_address spawn_root(const cli::job_run& run,
                         proto::Counter::Reader counter); // which outlives it

cli::job_kind counter_job();

} // namespace troupe::counter
