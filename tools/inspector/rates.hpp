// From two lists of actors to rates, and from exchanged times to the difference of two clocks. Pure.
#pragma once

#include <span>

#include "tools/inspector/events.hpp"

namespace troupe::inspector {

struct actor_rate {
    actor_row now;
    double messages_per_second = 0;
    // Shares of the time between the samples, 0..1.
    double handler_share = 0;
    double device_share = 0;
};

// An actor that is new since `before` counts from its start. Both lists are of one node.
std::vector<actor_rate> rates_between(const actor_list& before, const actor_list& after);

// One question to a node: its departure and the answer's arrival on our clock, and the node's clock in the answer.
struct clock_probe {
    std::int64_t asked_ns = 0;
    std::int64_t answered_ns = 0;
    std::int64_t remote_ns = 0;
};

// A time of the node minus `offset_ns` is a time on our clock, give or take `error_ns`.
struct clock_offset {
    std::int64_t offset_ns = 0;
    std::int64_t error_ns = 0;
};

// Estimates the offset from the fastest answer: the node read its clock in the middle of the round trip, give or take half
// of it (Cristian 1989). The offset is 0 where that fits as well, as on one machine. Needs at least one probe.
clock_offset estimate_offset(std::span<const clock_probe> probes);

} // namespace troupe::inspector
