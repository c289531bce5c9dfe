// The message of a scheduler or a worker to the leader about an actor of the run that it watches and that is down.
//
// Threads: the caller's actor's.
#pragma once

#include <optional>

#include "actors/messages.hpp"
#include "actors/runtime/failure.hpp"
#include "actors/runtime/lost_nodes.hpp"
#include "actors/scheduled/run_incarnation.hpp"

namespace troupe::scheduled {

// None if `who` is no part of the run any more, or has ended on its node: the leader, which watches it, too, knows why.
inline std::optional<frame_builder<proto::PeerLost>> lost_peer(const node_runtime& here,
                                                               const run_incarnation& run,
                                                               actor_address who,
                                                               const error& why) {
    if (!is_lost_with_node(here, who, why) || !run.has(who))
        return std::nullopt;
    frame_builder<proto::PeerLost> lost;
    write_address(lost.body().initActor(), who);
    write_failure(lost.body().initFailure(), why);
    return lost;
}

} // namespace troupe::scheduled
