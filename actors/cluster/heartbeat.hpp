// Detection of nodes that have been silent for too long: a pure function of the times at which nodes were heard.
//
// A node that was stopped itself (by a debugger, or because the machine was suspended) would find all others silent when it
// continues. The judge therefore notices that its own ticks stopped, and starts over.
#pragma once

#include <map>
#include <vector>

#include "schemas/base/ids.hpp"
#include "schemas/base/time_source.hpp"

namespace troupe {

// With the defaults a node that hangs is declared lost within five seconds, the time-out and an interval, and a node on a
// busy machine may be late by most of that.
struct heartbeat_times {
    // Interval between two heartbeats, and between two checks of the others.
    duration interval = std::chrono::milliseconds{500};
    duration timeout = std::chrono::seconds{4}; // silence after which a member is declared lost
};

class heartbeat_judge {
  public:
    explicit heartbeat_judge(heartbeat_times times) : times_{times} {}

    // `node` was alive at `now`. The first call for a node begins to watch it. Calls may come late and out of order.
    void heard(node_id node, time_point now);
    void forget(node_id node) { last_heard_.erase(node); }

    // To be called once per interval. Returns the nodes that have not been heard for the time-out, by node id, and forgets
    // them.
    std::vector<node_id> tick(time_point now);

  private:
    heartbeat_times times_;
    std::map<node_id, time_point> last_heard_;
    time_point last_tick_{};
    bool ticking_ = false;
};

} // namespace troupe
