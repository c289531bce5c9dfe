// Orders of steps by list scheduling, for what has no closed pattern: whenever a device is free it takes, of the steps that
// could begin, the first by these rules. Pure and deterministic.
//
//   an input's gradient before a forward, a forward before a weight half;
//   among these the lower microbatch, then the later stage, then the lower replica;
//   no forward beyond the device's bound of microbatches in flight.
#pragma once

#include <optional>

#include "actors/pipeline/shape/schedule_timeline.hpp"

namespace troupe {

struct list_rules {
    course_times times;
    bool halves = false;              // backward passes in two halves
    std::vector<std::uint32_t> bound; // by device
};

// The table with the bodies of its devices in such an order, and updates behind them. `places` has stages, replicas,
// microbatches and devices; its own steps are not looked at. None where the bounds let all devices wait for ever.
std::optional<schedule_table> list_schedule(schedule_table places, const list_rules& rules);

// A synchronous table's work in the better of two orders for these times: its own, or a list schedule with no more in
// flight on any device. So it is never worse than the table, which is sound.
schedule_table fitted_to(const schedule_table& table, const timeline_options& times);

} // namespace troupe
