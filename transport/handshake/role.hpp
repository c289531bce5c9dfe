// Conversion of a node's role between messages (schemas/handshake.capnp) and C++.
//
// Threads: pure functions. Errors: errc::protocol for a role that this build does not know.
#pragma once

#include "schemas/handshake.capnp.h"
#include "transport/endpoint.hpp"

namespace troupe {

proto::Role to_proto(peer_role role);
result<peer_role> from_proto(proto::Role role);

} // namespace troupe
