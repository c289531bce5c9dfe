// Detection of nodes that have been silent for too long: a pure function of the times at which nodes were heard.
//
// A node that was stopped itself (by a debugger, or because the machine was suspended) would find all others silent when it
// continues. The judge therefore notices that its own ticks stopped, and starts over. Nodes for their part wait longer for
// the process of a run than for each other: its user may stop it and go on (Ctrl-Z, a laptop that sleeps).
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "schemas/base/ids.hpp"
#include "schemas/base/time_source.hpp"
#include "transport/endpoint.hpp"

namespace troupe {

// With the defaults a node that hangs is declared lost within five seconds, the time-out and an interval, and a node on a
// busy machine may be late by most of that.
struct heartbeat_times {
    // Interval between two heartbeats, and between two checks of the others.
    duration interval = std::chrono::milliseconds{500};
    duration timeout = std::chrono::seconds{4};      // silence after which a node is declared lost
    duration run_timeout = std::chrono::seconds{60}; // and the process of a run
};

class heartbeat_judge {
  public:
    explicit heartbeat_judge(heartbeat_times times) : times_{times} {}

    // Begins to watch a node, which is alive at `now`.
    void watch(node_id node, peer_role role, time_point now);
    // `node`, which is watched, was alive at `now`. Calls may come late and out of order.
    void heard(node_id node, time_point now);
    void forget(node_id node) { watched_.erase(node); }

    // By node id.
    struct silent_nodes {
        std::vector<node_id> lost; // for their time-out; they are forgotten
        std::vector<node_id>
            waiting; // runs, for the time-out of nodes: each once, until it is heard again
        std::vector<node_id> back; // those that were waited for, and have been heard again
    };
    // To be called once per interval.
    silent_nodes tick(time_point now);

  private:
    struct watched {
        duration timeout;
        time_point last_heard;
        bool is_waited_for = false; // it was silent for the time-out of nodes
        bool is_back = false;       // and has been heard since then
    };
    heartbeat_times times_;
    std::map<node_id, watched> watched_;
    std::optional<time_point> last_tick_;
};

} // namespace troupe
