// Limits of the program "factorization".
#pragma once

#include <cstdint>

namespace troupe::factorization::limits {

// Users and items: their numbers are int32.
inline constexpr std::uint64_t rows_max = (1ull << 31) - 1;
// Factors of all users, or of all items: 1 TiB.
inline constexpr std::uint64_t factors_max = 1ull << 38;
// Factors of the items of a block, which is sent from worker to worker: 1 GiB.
inline constexpr std::uint64_t block_factors_max = 1ull << 28;
// Users of which one follows the other while the order of others changes from sweep to sweep.
inline constexpr std::uint32_t users_together = 64;
// Bytes of items that a worker computes with at a time, so that they stay in a core's second cache.
inline constexpr std::uint64_t tile_bytes = 1ull << 20;

} // namespace troupe::factorization::limits
