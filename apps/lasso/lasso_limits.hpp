// Limits of the program "lasso".
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::lasso::limits {

// Their numbers are int32.
inline constexpr std::uint64_t columns_max = 1ull << 31;
// Numbers in coefficients.npy: 8 GiB.
inline constexpr std::uint64_t coefficients_max = 1ull << 30;
// Products of columns that a scheduler keeps: 384 MiB.
inline constexpr std::size_t gram_entries_max = 1ull << 25;
// Bound of what a phase may ask for: products of dense columns, and pairs of sparse ones, few of which meet.
inline constexpr std::size_t phase_products_max = gram_entries_max;
inline constexpr std::uint64_t phase_pairs_max = 1ull << 36;
// Entries of columns that a scheduler keeps instead of products: 256 MiB.
inline constexpr std::size_t gathered_entries_max = 1ull << 25;
// Variables of a phase, if their number is given.
inline constexpr std::size_t set_max = 2048;
// If it is not, and they are checked.
inline constexpr std::size_t checked_set = 64;
// If it is sized by work, of dense and of sparse columns.
inline constexpr std::size_t whole_set_max = 5000, whole_sparse_set_max = 32768;

// Bound of a target, without its sign: squares of as many as a matrix has rows have a sum in float64.
inline constexpr double target_max = 1e140;

static_assert(whole_set_max * whole_set_max * 65 / 64 < gram_entries_max);
static_assert(whole_sparse_set_max * whole_sparse_set_max / 64 <= gram_entries_max);

} // namespace troupe::lasso::limits
