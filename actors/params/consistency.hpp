// Consistency rules of a parameter server: when a worker may read weights, and which pushed gradients make up an update.
// Pure.
//
// A worker's clock counts the gradients that it has pushed in this epoch and that the shard has applied or dropped.
//
//   rule              an update is made of                    a worker that has pushed c reads
//   asynchronous      each gradient when it arrives           at once
//   bounded           each gradient when it arrives           when every worker has pushed at least c - s
//   staleness s       (Ho et al. 2013)
//   s = 0: bulk       a gradient of every worker,             when that update is made
//   synchronous       in their order
//   value-bounded     each gradient when it arrives           when what any other has not seen of its updates is at most
//                     (Wei et al. 2015)                       bound / sqrt(c), c over the run
//   softsync n        workers / n gradients in the order      at once
//                     of arrival (Gupta et al. 2016)
//   backup workers b  the first of all at work but b, of the  when its gradient is in an update or dropped
//                     newest version; later ones are dropped
//                     (Chen et al. 2016)
//
// A worker's read includes its own gradients, except under softsync, where they may wait for others. A worker that has no
// more data in this epoch, or is lost, blocks nobody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {

// At most one field is set; asynchronous if none is.
struct consistency {
    std::optional<std::uint32_t> staleness; // s, in clocks
    // Bound of value-bounded, on the summed largest weight changes of updates.
    std::optional<float> bound;
    std::optional<std::uint32_t> splits;  // n of softsync
    std::optional<std::uint32_t> backups; // b of backup workers

    // True if every update combines gradients of all workers.
    bool is_synchronous() const noexcept { return staleness == 0u; }
    // True if gradients are always computed with the version that they update.
    bool is_never_late() const noexcept { return is_synchronous() || backups; }
    // Number of gradients in an update while all of `workers` still push.
    std::size_t gradients_per_update(std::size_t workers) const noexcept;
    // Factor of a gradient that is `updates_late` updates late, in an update of `gradients`. It is 1 unless softsync or
    // backup workers are set: gradients that bsp sums are shares of one mean already.
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

    // The worker with the lowest clock of those that still push; none if all are done.
    std::optional<std::size_t> slowest() const noexcept;

  private:
    std::vector<std::uint64_t> clocks_;
    std::vector<bool> done_;
};

// The worker that one at `clock` has to wait for before it reads; none if it may read. For bounded staleness.
std::optional<std::size_t> waits_for(const consistency& rule, const worker_clocks& clocks,
                                     std::uint64_t clock);

} // namespace troupe
