#include "transport/handshake/identity.hpp"

#include <sodium.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace troupe {

namespace {

static_assert(sizeof(identity_key) == crypto_sign_PUBLICKEYBYTES &&
              sizeof(identity_signature) == crypto_sign_BYTES &&
              sizeof(random_token) == crypto_sign_SEEDBYTES);

constexpr std::string_view label = "troupe node identity";

template <class Bytes>
unsigned char* raw(Bytes& bytes) {
    return reinterpret_cast<unsigned char*>(bytes.data());
}
template <class Bytes>
const unsigned char* raw(const Bytes& bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}

// 0 is nobody: 1 stands for it.
node_id node_of(const identity_key& key) {
    std::array<unsigned char, crypto_generichash_BYTES> hash;
    crypto_generichash(hash.data(), hash.size(), raw(key), key.size(), raw(label), label.size());
    std::uint64_t id = 0;
    for (std::size_t i = 0; i < sizeof id; ++i)
        id |= std::uint64_t{hash[i]} << (8 * i);
    return node_id{std::max<std::uint64_t>(id, 1)};
}

// The side is named so that a node cannot be answered with its own proof.
std::vector<std::byte> signed_text(const noise_hash& name, handshake_side side) {
    std::vector<std::byte> text;
    for (const char c : label)
        text.push_back(static_cast<std::byte>(c));
    text.push_back(side == handshake_side::connector ? std::byte{0} : std::byte{1});
    text.insert(text.end(), name.begin(), name.end());
    return text;
}

} // namespace

node_identity::node_identity(const random_token& seed) {
    TROUPE_CHECK(sodium_init() >= 0, "libsodium starts where there are random bytes");
    static_assert(sizeof private_ == crypto_sign_SECRETKEYBYTES);
    crypto_sign_seed_keypair(raw(public_), raw(private_), raw(seed));
}

node_identity::~node_identity() {
    sodium_memzero(private_.data(), private_.size());
}

node_id node_identity::node() const noexcept {
    return node_of(public_);
}

identity_proof node_identity::prove(const noise_hash& name, handshake_side side) const {
    identity_proof proof{public_, {}};
    const auto text = signed_text(name, side);
    crypto_sign_detached(raw(proof.signature), nullptr, raw(text), text.size(), raw(private_));
    return proof;
}

result<node_id> proven_node(const identity_proof& proof, const noise_hash& name,
                            handshake_side by) {
    const auto text = signed_text(name, by);
    if (crypto_sign_verify_detached(raw(proof.signature), raw(text), text.size(), raw(proof.key)) !=
        0)
        return error{errc::refused, "the identity that was claimed has not been proven: either a "
                                    "node pretends to be another one, or somebody is between the "
                                    "two"};
    return node_of(proof.key);
}

} // namespace troupe
