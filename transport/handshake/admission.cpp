#include "transport/handshake/admission.hpp"

#include <string>

namespace troupe {

result<void> check_role(peer_role role, handshake_side side, std::optional<peer_role> key_for) {
    if (!key_for || *key_for == role)
        return {};
    // Nodes and runs hold keys of others too, in order to accept them; observers do not.
    if (side == handshake_side::acceptor && role != peer_role::observer)
        return {};
    return error{errc::refused,
                 "the key that was proven is for " + std::string{people_of(*key_for)} + ", and " +
                     std::string{one_of(role)} + " needs one for " + std::string{people_of(role)} +
                     ": a line '" + std::string{word_of(role)} +
                     " KEY' in the file that both sides get by --key FILE"};
}

result<peer_info> admitted(const hello_message& hello, const session_secrets& session,
                           handshake_side by) {
    const auto node = proven_node(hello.identity, session.name, by);
    if (!node)
        return node.failure();
    if (auto may = check_role(hello.self.role, by, session.key_for); !may)
        return may.failure();
    peer_info peer = hello.self;
    peer.node = *node;
    return peer;
}

} // namespace troupe
