// Which bound of `stop` has ended a run, and whether a run can still come closer to one.
//
// Threads: values and pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "actors/run/run_events.hpp"
#include "actors/scheduled/run_settings.hpp"

namespace troupe::scheduled {

struct run_standing {
    bool is_done = false;    // the program says so (standing::is_done)
    bool is_time_up = false; // by stop.seconds
    std::uint64_t sweeps = 0;
    std::uint64_t phases = 0;
    std::vector<named_number> numbers = {}; // of the last probe
};

// Whether a run that goes on from its end is at its end again: the program has said that it is done, or the bound of sweeps
// is still one.
bool end_holds(bool is_done, std::uint64_t sweeps, const stop_settings& stop);

// The key below `stop`: "gap", "length", "iterations", "sweeps", "phases" or "seconds"; empty: none of them, as of a run
// that is stopped by hand.
std::string bound_reached(const stop_settings& stop, const run_standing& now);

// A gap that no longer falls. Programs whose numbers have none never stand still.
class standstill {
  public:
    static constexpr std::uint32_t sweeps_max = 20;
    // The sentence for that. It names rounding only for a gap as small as rounding can leave.
    static const char* sentence(double gap) noexcept;

    // True once: the gap is above `wanted`, which is more than 0, and has not fallen by a hundredth in `sweeps_max` sweeps,
    // in which the program was at one problem: its other numbers but `phases` were as good as the same.
    bool is_reached(const std::vector<named_number>& numbers, double wanted);
    double best() const noexcept { return best_; } // the gap then

  private:
    std::vector<named_number> first_; // of the sweeps that are counted
    double best_ = 0;
    std::uint32_t sweeps_ = 0;
    bool is_said_ = false;
};

} // namespace troupe::scheduled
