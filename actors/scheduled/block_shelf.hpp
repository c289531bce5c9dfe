// The blocks of a worker whose variables rotate: those of its next turns, that have come. A pure value: the
// worker turns messages into calls on it.
//
//     shelf.put({.number = 2, .turn = 7, .content = std::move(tensors)});
//     if (shelf.has(7))
//         held_block block = shelf.take(7);               // for the device
//
// Errors: errc::protocol for a block that does not fit, after which nothing has changed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "actors/scheduled/program.hpp"

namespace troupe::scheduled {

class block_shelf {
  public:
    block_shelf(rotation ring, std::uint32_t worker) : ring_{ring}, worker_{worker} {}

    // The worker begins at this phase, with these blocks: all of its next per_worker turns.
    result<void> restart(std::uint64_t phase, std::vector<held_block> blocks);
    // A block that the worker before has handed on, or that this one has kept.
    result<void> put(held_block block);

    bool has(std::uint64_t turn) const { return held_.contains(turn); }
    // Whether all blocks are here that come without anybody computing this phase.
    bool has_all_at(std::uint64_t phase) const;
    held_block take(std::uint64_t turn); // of a turn that it has
    // These blocks, in the order of their turns; they share their tensors with the shelf. Others may be here already, of a
    // worker that is ahead.
    std::vector<held_block> all_at(std::uint64_t phase) const;

    std::string describe() const; // "5, 7": the blocks that are here, in the order of their turns

    const rotation& ring() const noexcept { return ring_; }
    std::uint32_t worker() const noexcept { return worker_; }

  private:
    const rotation ring_;
    const std::uint32_t worker_;
    std::uint64_t next_ = 0;                   // turn that has not been taken
    std::map<std::uint64_t, held_block> held_; // by turn
};

// Copies what others may hold, a saved state for example, so that all of `content` may be written.
result<void> make_own(payload& content, memory_pool& memory);

} // namespace troupe::scheduled
