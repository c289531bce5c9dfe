// Who has been silent for too long: a pure function of the times at which nodes were heard.
//
// A node that was stopped itself (a debugger, a suspended machine) would find everybody silent when it goes on. So the
// judge notices that its own ticks stopped coming, and starts anew.
#pragma once

#include <map>
#include <vector>

#include "schemas/base/clock.hpp"
#include "schemas/base/ids.hpp"

namespace troupe {

// As they stand, a node that hangs is given up within five seconds, the time-out and an interval, and a busy machine has
// most of that to be late in.
struct heartbeat_times {
    // Between two heartbeats, and two looks at the others'.
    duration interval = std::chrono::milliseconds{500};
    duration timeout = std::chrono::seconds{4}; // silence after which a member is given up
};

class heartbeat_judge {
  public:
    explicit heartbeat_judge(heartbeat_times times) : times_{times} {}

    // `node` was alive at `now`. The first time, it is watched from now on. News may come late and out of order.
    void heard(node_id node, time_point now);
    void forget(node_id node) { last_heard_.erase(node); }

    // To be called once per interval: who has not been heard of for the time-out, by node id. They are forgotten.
    std::vector<node_id> tick(time_point now);

  private:
    heartbeat_times times_;
    std::map<node_id, time_point> last_heard_;
    time_point last_tick_{};
    bool ticking_ = false;
};

} // namespace troupe
