// The role "peer": spawns the peer for a run's method of exchanging weights, as PeerOptions (schemas/peers.capnp) describe
// it.
#pragma once

#include "actors/agent/role.hpp"

namespace troupe {

role peer_actor_role();

} // namespace troupe
