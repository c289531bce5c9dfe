// Whether a node that has proven a key and says hello is taken for what it says.
//
// Threads: pure functions. Errors: errc::refused; the sentence is for both sides.
#pragma once

#include "transport/handshake/control.hpp"
#include "transport/handshake/handshake.hpp"

namespace troupe {

// Whether the key that was proven lets a node of this role be this side of the connection (handshake.md).
result<void> check_role(peer_role role, handshake_side side, std::optional<peer_role> key_for);

// The node that has said this hello as the side `by` of the connection: its id is the one that it has proven.
result<peer_info> admitted(const hello_message& hello, const session_secrets& session,
                           handshake_side by);

} // namespace troupe
