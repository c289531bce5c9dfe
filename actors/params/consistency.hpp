// Consistency of a parameter server: which weights a worker may read, and when pushed gradients make a new version. Pure.
//
// A worker's clock counts the gradients that it has pushed in this epoch. Bounded staleness s (stale synchronous parallel:
// Ho et al. 2013): a worker that has pushed c may read when every worker has pushed at least c - s, so that what it reads
// holds all gradients of clocks before c - s, its own up to c, and perhaps newer ones. Without a bound nobody ever waits
// (asynchronous parallel). With s = 0 all gradients of a clock make one update, in the order of the workers, so that all
// read the same version (bulk synchronous parallel); else each gradient makes one when it arrives.
//
// A worker that has no more data in this epoch holds nobody up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {

struct consistency {
    std::optional<std::uint32_t> staleness; // clocks; nothing: unbounded

    bool is_synchronous() const noexcept { return staleness == 0u; }
};

// The clocks of all workers in an epoch. A value.
class worker_clocks {
  public:
    explicit worker_clocks(std::size_t workers = 1) : clocks_(workers), done_(workers) {}

    std::size_t workers() const noexcept { return clocks_.size(); }
    std::uint64_t of(std::size_t worker) const noexcept { return clocks_[worker]; }
    bool is_done(std::size_t worker) const noexcept { return done_[worker]; }

    void tick(std::size_t worker) { ++clocks_[worker]; }
    void finish(std::size_t worker) { done_[worker] = true; } // it pushes no more
    bool all_done() const noexcept;

    // The worker that is least far of those that still push; nothing if none does.
    std::optional<std::size_t> slowest() const noexcept;

  private:
    std::vector<std::uint64_t> clocks_;
    std::vector<bool> done_;
};

// The worker for which one at this clock has to wait before it reads; nothing if it may read.
std::optional<std::size_t> waits_for(const consistency& rule, const worker_clocks& clocks,
                                     std::uint64_t clock);

} // namespace troupe
