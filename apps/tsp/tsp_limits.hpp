// Limits of apps/tsp. What a file or a sender claims is compared with these before memory is taken for it.
#pragma once

#include <cstdint>

namespace troupe::tsp::limits {

inline constexpr std::uint64_t cities_min = 3;
inline constexpr std::uint64_t cities_max = 1ull << 22;
// With a matrix of lengths, which takes 4 bytes for each pair: 1 GiB.
inline constexpr std::uint64_t matrix_cities_max = 1ull << 14;
// Bound of a coordinate, either way, and of a length: the length of every tour fits 64 bits.
inline constexpr double coordinate_max = 1e9;
inline constexpr std::int64_t matrix_length_max = (1ll << 31) - 1;
// Candidates of a city.
inline constexpr std::uint32_t candidates_max = 32;
// By alpha-nearness: so many take some ten seconds.
inline constexpr std::uint64_t alpha_cities_max = 100000;

} // namespace troupe::tsp::limits
