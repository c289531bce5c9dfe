// Settings of the program "tsp", as plain values.
#pragma once

#include <cstdint>

#include "actors/scheduled/program.hpp"
#include "apps/tsp/colony.hpp"
#include "schemas/base/error.hpp"

namespace troupe::tsp {

inline constexpr std::uint32_t ants_max = 1u << 20;
// Cities of all tours that a colony keeps at a time: 4 GiB.
inline constexpr std::uint64_t ant_cities_max = 1u << 30;

enum class exchange_kind : std::uint8_t { ring, all, none };

struct tsp_settings {
    colony_settings colony;
    exchange_kind exchange = exchange_kind::ring;
    std::uint64_t exchange_every = 0; // tours of a colony; 0: those of a few phases
};

// errc::protocol if it is not a TspSettings.
result<tsp_settings> read_settings(capnp::AnyPointer::Reader settings);

// Tours that each colony builds in a phase: as the app file says (schedule.cyclic.set), or as take about 0.05 to 0.3 s. From
// settings and sizes alone, never from time.
std::uint64_t tours_of_phase(const tsp_settings& settings, const scheduled::program_site& site);
// Tours of a colony between two exchanges.
std::uint64_t tours_between_exchanges(const tsp_settings& settings,
                                      const scheduled::program_site& site);

// Checks what the schema cannot, before memory is taken.
result<void> check(const scheduled::program_site& site);

// Keys of the app file that have no effect, or are hardly intended.
std::vector<scheduled::doubtful_key> doubts(const scheduled::program_site& site);

} // namespace troupe::tsp
