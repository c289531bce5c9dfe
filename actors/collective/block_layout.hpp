// The owners of blocks in an all-reduce by blocks: each block of a tensor goes straight to the rank that owns it, which sums
// the blocks of all ranks and sends the sum, encoded again, to all others. Pure; all ranks, and the plan, compute the same
// layout.
//
//   round 0   each rank sends every other rank the payloads of that rank's blocks
//   round 1   each rank sends all others the sums of its own blocks
//
// With P ranks of n bytes each a rank sends 2 n (P - 1) / P, the same share as in a dense all-reduce; an all-gather sends
// n (P - 1). Source: 1-bit stochastic gradient descent, Seide, Fu, Droppo, Li and Yu 2014.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "actors/collective/all_reduce.hpp"
#include "kernels/codec/codec.hpp"

namespace troupe {

// Consecutive elements of a tensor that one rank sums.
struct owned_block {
    std::size_t tensor = 0;
    index_range elements;
    tensor_shape shape; // that its payloads have (payload_blocks)
};

struct block_layout {
    codec_ptr sums; // encodes sums of blocks: the codec's of_sums(), or the codec itself
    std::vector<std::vector<owned_block>> owned; // by rank, in the order of tensors
    std::vector<std::uint64_t> submitted_bytes;  // by owner: most bytes that each rank submits it
    std::vector<std::uint64_t> sum_bytes;        // by owner: most bytes of its encoded sums

    // Cuts each tensor into one block for each rank, with equally many of the codec's units each; remaining units go to
    // the ranks with the least to sum so far, one each: ranks differ by one unit at most. The codec has blocks().
    static block_layout make(const codec_ptr& how, std::span<const tensor_shape> shapes,
                             std::uint32_t ranks);

    std::uint32_t ranks() const noexcept { return static_cast<std::uint32_t>(owned.size()); }
    std::uint64_t bytes_sent(std::uint32_t rank) const; // in both rounds, at most
    std::uint64_t bytes_sent_max() const;
};

} // namespace troupe
