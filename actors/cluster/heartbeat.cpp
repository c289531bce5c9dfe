#include "actors/cluster/heartbeat.hpp"

#include <algorithm>

namespace troupe {

void heartbeat_judge::heard(node_id node, time_point now) {
    time_point& last = last_heard_[node];
    last = std::max(last, now);
}

std::vector<node_id> heartbeat_judge::tick(time_point now) {
    const bool slept = ticking_ && now - last_tick_ > times_.timeout / 2 + times_.interval;
    ticking_ = true;
    last_tick_ = now;
    std::vector<node_id> silent;
    for (auto& [node, last] : last_heard_) {
        if (slept)
            last = now;
        else if (now - last > times_.timeout)
            silent.push_back(node);
    }
    for (const node_id node : silent)
        last_heard_.erase(node);
    return silent;
}

} // namespace troupe
