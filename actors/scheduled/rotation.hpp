// Blocks of variables that pass from worker to worker, as pure arithmetic: who has which block at which turn, and which
// phase a turn is. There are `per_worker` blocks for each worker. In a turn every worker computes with one block, all
// with different ones, and hands it to the next worker, which computes with it per_worker turns later: meanwhile it is
// on its way or waits. A sweep has as many turns as there are blocks, so that every worker has had every block once,
// and ends with a probe.
//
//     const rotation ring{.workers = 2, .per_worker = 2};
//     ring.block_of(1, 0);                                // 2: the first one of the second worker
//     ring.is_probe(4);                                   // after the turns 0 to 3
//
// Threads: a value. Source: STRADS, "Primitives for dynamic big model parallelism", Lee et al., NIPS 2014, whose ring has a
// barrier at the end of each round and one block a worker.
#pragma once

#include <cstdint>

namespace troupe::scheduled {

struct rotation {
    std::uint32_t workers = 1;
    std::uint32_t per_worker = 1; // blocks

    std::uint32_t blocks() const noexcept { return workers * per_worker; }

    // ---- phases and turns ----
    std::uint64_t phases_per_sweep() const noexcept { return std::uint64_t{blocks()} + 1; }
    bool is_probe(std::uint64_t phase) const noexcept {
        return phase % phases_per_sweep() == blocks();
    }
    // Turns in the phases below this one: the number of the turn that it is, if it is no probe.
    std::uint64_t turns_before(std::uint64_t phase) const noexcept {
        return phase - phase / phases_per_sweep();
    }
    std::uint64_t phase_of(std::uint64_t turn) const noexcept { return turn + turn / blocks(); }
    std::uint64_t sweep_of_turn(std::uint64_t turn) const noexcept { return turn / blocks(); }
    // Whether the block of this turn goes nowhere else in this sweep.
    bool is_last_of_sweep(std::uint64_t turn) const noexcept {
        return turn % blocks() >= blocks() - per_worker;
    }

    // ---- places ----
    // At turn 0 a worker has the blocks of its first per_worker turns.
    std::uint32_t block_of(std::uint32_t worker, std::uint64_t turn) const noexcept {
        return static_cast<std::uint32_t>((std::uint64_t{worker} * per_worker + turn) % blocks());
    }
    std::uint32_t next_worker(std::uint32_t worker) const noexcept {
        return (worker + workers - 1) % workers;
    }
    std::uint32_t worker_before(std::uint32_t worker) const noexcept {
        return (worker + 1) % workers;
    }
    // The turn in which the next worker computes with the block of this turn.
    std::uint64_t next_turn(std::uint64_t turn) const noexcept { return turn + per_worker; }
};

} // namespace troupe::scheduled
