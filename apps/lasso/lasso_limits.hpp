// Limits of the program "lasso".
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::lasso::limits {

inline constexpr std::uint64_t columns_max = 1ull << 31;      // their numbers are int32
inline constexpr std::uint64_t coefficients_max = 1ull << 30; // in coefficients.npy: 8 GiB
inline constexpr std::size_t gram_entries_max = 1ull
                                                << 24; // products that a scheduler keeps: 192 MiB
inline constexpr std::size_t phase_products_max =
    gram_entries_max; // that a phase may ask for of dense columns
inline constexpr std::uint64_t phase_pairs_max =
    1ull << 36;                              // of columns, of which a phase may ask for products
inline constexpr std::size_t set_max = 2048; // variables of one phase
// A working set that is one phase, if the set is sized by work; of dense and of sparse columns.
inline constexpr std::size_t whole_set_max = 4000, whole_sparse_set_max = 32768;

static_assert(whole_set_max * whole_set_max * 65 / 64 < gram_entries_max);
static_assert(whole_sparse_set_max * whole_sparse_set_max / 64 <= gram_entries_max);

} // namespace troupe::lasso::limits
