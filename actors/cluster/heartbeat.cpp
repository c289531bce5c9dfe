#include "actors/cluster/heartbeat.hpp"

#include <utility>

namespace troupe {

void heartbeat_judge::watch(node_id node, peer_role role, time_point now) {
    const bool is_run = role == peer_role::client;
    watched_.try_emplace(node, watched{is_run ? times_.run_timeout : times_.timeout, now});
    last_tick_ = last_tick_.value_or(now); // this node may be stopped before its first one
}

void heartbeat_judge::heard(node_id node, time_point now) {
    const auto found = watched_.find(node);
    if (found == watched_.end() || now <= found->second.last_heard)
        return;
    found->second.last_heard = now;
    found->second.is_back = found->second.is_waited_for;
}

heartbeat_judge::silent_nodes heartbeat_judge::tick(time_point now) {
    const bool slept = last_tick_ && now - *last_tick_ > times_.timeout / 2 + times_.interval;
    last_tick_ = now;
    silent_nodes silent;
    for (auto& [node, its] : watched_) {
        if (slept)
            its.last_heard = now;
        else if (now - its.last_heard > its.timeout)
            silent.lost.push_back(node);
        else if (now - its.last_heard > times_.timeout && !std::exchange(its.is_waited_for, true))
            silent.waiting.push_back(node);
        else if (std::exchange(its.is_back, false)) {
            its.is_waited_for = false;
            silent.back.push_back(node);
        }
    }
    for (const node_id node : silent.lost)
        watched_.erase(node);
    return silent;
}

} // namespace troupe
