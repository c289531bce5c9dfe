// Consistency of a parameter server: which weights a worker may read, and which pushed gradients make an update. Pure.
//
// A worker's clock counts the gradients that it has pushed in this epoch and that the shard is done with.
//
//   rule              an update is made of                    a worker that has pushed c reads
//   asynchronous      each gradient when it arrives           at once
//   bounded           each gradient when it arrives           when every worker has pushed at least c - s
//   staleness s       (Ho et al. 2013)
//   s = 0: bulk       a gradient of every worker,             when that update is made
//   synchronous       in their order
//   value-bounded     each gradient when it arrives           when what some other has not seen of its updates is at most
//                     (Wei et al. 2015)                       bound / sqrt(c), c over the run
//   softsync n        workers / n gradients in the order      at once
//                     of arrival (Gupta et al. 2016)
//   backup workers b  the first of all at work but b, of the  when its gradient is in an update or dropped
//                     newest version; later ones are dropped
//                     (Chen et al. 2016)
//
// A worker reads its own gradients with what it reads, but for softsync's, which may wait for others. One that has no more
// data in this epoch, or is gone, holds nobody up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {

// At most one is given; asynchronous where none is.
struct consistency {
    std::optional<std::uint32_t> staleness; // s, in clocks
    std::optional<float> bound; // of value-bounded, on the sum of the largest changes of updates
    std::optional<std::uint32_t> splits;  // n of softsync
    std::optional<std::uint32_t> backups; // b of backup workers

    // Whether every update is one by all workers.
    bool is_synchronous() const noexcept { return staleness == 0u; }
    // Whether gradients are always of the weights that they update.
    bool is_never_late() const noexcept { return is_synchronous() || backups; }
    // Of so many workers, how many gradients an update is made of where nobody has ended.
    std::size_t gradients_per_update(std::size_t workers) const noexcept;
    // What a gradient so many updates late is multiplied by, in an update of `gradients`; all that bsp sums are shares of
    // one mean already.
    float share(std::uint64_t updates_late, std::size_t gradients) const noexcept;
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
    std::size_t active() const noexcept; // workers that still push

    // The worker that is least far of those that still push; nothing if none does.
    std::optional<std::size_t> slowest() const noexcept;

  private:
    std::vector<std::uint64_t> clocks_;
    std::vector<bool> done_;
};

// The worker for which one at this clock has to wait before it reads; nothing if it may read. Of bounded staleness.
std::optional<std::size_t> waits_for(const consistency& rule, const worker_clocks& clocks,
                                     std::uint64_t clock);

} // namespace troupe
