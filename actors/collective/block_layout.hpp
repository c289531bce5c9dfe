// Who sums what where ranks cut what they send into blocks: each block of a tensor goes straight to the rank that owns it,
// which sums that of all ranks and sends the sum, encoded again, to all others. Pure; all ranks, and the plan, compute the
// same.
//
//   round 0   a rank's payloads of the blocks of each other rank to that rank
//   round 1   a rank's sums of its own blocks to all others
//
// With P ranks of n bytes each a rank sends 2 n (P - 1) / P, as a dense all-reduce does of its numbers; gathered they are
// n (P - 1). Source: 1-bit stochastic gradient descent, Seide, Fu, Droppo, Li and Yu 2014.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "actors/collective/all_reduce.hpp"
#include "kernels/codec/codec.hpp"

namespace troupe {

// Neighbouring elements of a tensor that one rank sums.
struct owned_block {
    std::size_t tensor = 0;
    index_range elements;
    tensor_shape shape; // by which its payloads are read (payload_blocks)
};

struct block_layout {
    codec_ptr sums; // by which sums of blocks are encoded: what the codec says, or itself
    std::vector<std::vector<owned_block>> owned; // by rank, in the order of tensors
    std::vector<std::uint64_t> given_bytes;      // by owner: what each rank gives it, at most
    std::vector<std::uint64_t> sum_bytes;        // by owner: its sums, encoded, at most

    // Each tensor is cut into as many blocks as ranks, of as many of the codec's units each; those that have least to sum so
    // far take one more where that does not come out even: ranks differ by a unit at most. The codec has blocks().
    static block_layout make(const codec_ptr& how, std::span<const tensor_shape> shapes,
                             std::uint32_t ranks);

    std::uint32_t ranks() const noexcept { return static_cast<std::uint32_t>(owned.size()); }
    std::uint64_t bytes_sent(std::uint32_t rank) const; // in both rounds, at most
    std::uint64_t bytes_sent_max() const;
};

} // namespace troupe
