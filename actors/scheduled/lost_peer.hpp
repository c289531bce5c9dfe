// The message of a scheduler or a worker to the leader about an actor of the run that it watches and that is down.
//
// Threads: the caller's actor's.
#pragma once

#include <algorithm>
#include <optional>

#include "actors/messages.hpp"
#include "actors/runtime/failure.hpp"
#include "actors/runtime/node_runtime.hpp"
#include "actors/scheduled/run_incarnation.hpp"

namespace troupe::scheduled {

// None if `who` is no part of the run any more, or if its node is still a peer: then the actor has ended, and the leader,
// which watches it, too, knows why.
inline std::optional<frame_builder<proto::PeerLost>> lost_peer(const node_runtime& here,
                                                               const run_incarnation& run,
                                                               actor_address who,
                                                               const error& why) {
    const bool is_reached =
        who.node == here.node() ||
        std::ranges::any_of(here.peers(), [&](const peer_info& p) { return p.node == who.node; });
    if (is_reached || !run.has(who))
        return std::nullopt;
    frame_builder<proto::PeerLost> lost;
    write_address(lost.body().initActor(), who);
    write_failure(lost.body().initFailure(), why);
    return lost;
}

} // namespace troupe::scheduled
