// The role "peer": spawns the peer of the way in which replicas exchange weights, as PeerOptions (schemas/peers.capnp) say.
#pragma once

#include "actors/agent/role.hpp"

namespace troupe {

role peer_actor_role();

} // namespace troupe
