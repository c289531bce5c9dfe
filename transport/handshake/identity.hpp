// Who a node is: a key pair for signatures (Ed25519) that it draws when it starts. Its id is made of the public key, so that
// nobody else can sign as the node of that id. handshake.md says why it is done so.
//
// Threads: values. Ownership: an identity wipes its private key at its end. Errors: errc::refused.
#pragma once

#include <array>
#include <cstddef>

#include "schemas/base/ids.hpp"
#include "transport/handshake/handshake.hpp"

namespace troupe {

using identity_key = std::array<std::byte, 32>;       // public
using identity_signature = std::array<std::byte, 64>; // of one side of one connection

// A side of a connection says this to prove who it is.
struct identity_proof {
    identity_key key{};
    identity_signature signature{};

    friend bool operator==(const identity_proof&, const identity_proof&) noexcept = default;
};

class node_identity {
  public:
    // `seed`: 32 random bytes of nobody else; the same seed gives the same identity.
    explicit node_identity(const random_token& seed = draw_token());
    node_identity(const node_identity&) = default;
    node_identity& operator=(const node_identity&) = default;
    ~node_identity();

    node_id node() const noexcept;
    // Proves it on the connection of this name (session_secrets::name), on which the node is this side.
    identity_proof prove(const noise_hash& name, handshake_side side) const;

  private:
    identity_key public_;
    std::array<std::byte, 64> private_;
};

// The node that has made the proof as the side `by` of the connection of this name.
result<node_id> proven_node(const identity_proof& proof, const noise_hash& name, handshake_side by);

} // namespace troupe
