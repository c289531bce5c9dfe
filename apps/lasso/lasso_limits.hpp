// Limits of the program "lasso".
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::lasso::limits {

inline constexpr std::uint64_t columns_max = 1ull << 31;      // their numbers are int32
inline constexpr std::uint64_t coefficients_max = 1ull << 30; // in coefficients.npy: 8 GiB
inline constexpr std::size_t gram_entries_max = 1ull << 25;   // that a scheduler keeps: 256 MiB
inline constexpr std::size_t phase_entries_max = gram_entries_max; // that a phase may ask for
inline constexpr std::size_t set_max = 4096;                       // variables of one phase
inline constexpr std::size_t whole_set_max =
    5000; // a working set that is one phase, if the set is sized by work

static_assert(set_max * set_max <= gram_entries_max &&
              whole_set_max * whole_set_max <= gram_entries_max);

} // namespace troupe::lasso::limits
