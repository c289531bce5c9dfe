// Tells from the end of a watched actor whether its node is lost.
//
// Threads: any.
#pragma once

#include <algorithm>

#include "actors/runtime/node_runtime.hpp"

namespace troupe {

// Whether on_down() tells of a lost node by this code: errc::refused if that node has given this one up, which may have been
// stopped or cut off for too long.
inline bool is_of_lost_node(errc code) noexcept {
    return code == errc::lost || code == errc::refused;
}

// Whether on_down() was called because the node of `who`, or the link to it, is lost to this node. Otherwise the actor has
// ended there, by a failure or with a node that stops in order, and tells the reason itself to whoever leads its run: what
// others tell of it may come first, and does not know the reason.
inline bool is_lost_with_node(const node_runtime& here, actor_address who, const error& why) {
    const auto is_its = [&](const peer_info& peer) { return peer.node == who.node; };
    return who.node != here.node() && is_of_lost_node(why.code()) &&
           std::ranges::none_of(here.peers(), is_its);
}

} // namespace troupe
