// The app file's settings of a run of a program, apart from the program's own. Plain values; ranges and defaults
// stand in schemas/program_app.capnp.
#pragma once

#include <cstdint>

namespace troupe::scheduled {

enum class schedule_kind : std::uint8_t {
    dynamic,  // sets drawn by priority
    cyclic,   // one set after the other, in order
    rotation, // blocks pass from worker to worker
};

// The rule that keeps variables that are updated together from disturbing each other.
enum class coupling : std::uint8_t {
    exact, // what others have changed is subtracted
    check, // variables that are correlated are not updated together
};

// These agree with program_app.capnp.
inline constexpr std::uint32_t window_max = 64;
inline constexpr std::uint32_t schedulers_max = 64;

struct schedule_settings {
    schedule_kind kind = schedule_kind::dynamic;
    std::uint32_t window =
        2; // phases that may be computed before the deltas of earlier ones are applied; of a rotation, turns (staleness.hpp)
    std::uint32_t set = 0; // variables of a phase; 0: sized by work
    coupling couple = coupling::exact;
    double rho = 0.1;        // with check: the largest correlation within what is in flight
    double base_width = 0.1; // share of a priority that every variable has
    std::uint32_t blocks_per_worker = 2; // of a rotation
};

// A run is over at the first of these; 0: no bound.
struct stop_settings {
    double gap = 0;           // relative to the objective where all variables are 0
    std::uint64_t sweeps = 0; // probes
    std::uint64_t phases = 0;
    double seconds = 0;
    // Bounds of programs that understand them (program::bounds).
    std::uint64_t length = 0;     // of a tour, or whatever else has a length
    std::uint64_t iterations = 0; // of each worker
};

// Bounds of `stop` that a program has to see to itself.
enum class stop_bound : std::uint8_t { length, iterations };

// Shape of the data of a run.
struct data_shape {
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;
    std::uint64_t entries = 0; // that are stored: rows * columns if it is dense
    bool is_sparse = false;
};

struct number_range {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    friend bool operator==(const number_range&, const number_range&) = default;
};

} // namespace troupe::scheduled
