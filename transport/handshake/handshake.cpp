#include "transport/handshake/handshake.hpp"

#include <sodium.h>

#include <cstring>
#include <string>

#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

constexpr std::uint32_t magic = 0x48505254; // "TRPH"
constexpr std::uint16_t version = 1;
constexpr std::size_t prefix_bytes = 8;
constexpr std::size_t challenge_bytes = prefix_bytes + sizeof(handshake_nonce);
constexpr std::size_t response_bytes = challenge_bytes + sizeof(secret_key);
constexpr std::size_t answer_bytes = prefix_bytes + sizeof(secret_key);
constexpr std::byte status_accepted{0};
constexpr std::byte status_wrong_key{1};

static_assert(response_bytes <= limits::handshake_bytes_max);
static_assert(sizeof(secret_key) == crypto_auth_KEYBYTES &&
              sizeof(secret_key) == crypto_auth_BYTES && sizeof(secret_key) == crypto_kdf_KEYBYTES);

unsigned char* raw(std::byte* p) {
    return reinterpret_cast<unsigned char*>(p);
}
const unsigned char* raw(const std::byte* p) {
    return reinterpret_cast<const unsigned char*>(p);
}

void require_sodium() {
    TROUPE_CHECK(sodium_init() >= 0, "libsodium starts where there are random bytes");
}

// Prefix and nonce, zero-padded to a message of `size` bytes.
std::vector<std::byte> prefixed(const handshake_nonce& nonce, std::size_t size) {
    std::vector<std::byte> out(size);
    std::memcpy(out.data(), &magic, sizeof magic);
    std::memcpy(out.data() + 4, &version, sizeof version);
    std::memcpy(out.data() + prefix_bytes, nonce.data(), nonce.size());
    return out;
}

result<void> check_prefix(std::span<const std::byte> in) {
    std::uint32_t m;
    std::uint16_t v;
    std::memcpy(&m, in.data(), sizeof m);
    std::memcpy(&v, in.data() + 4, sizeof v);
    if (m != magic)
        return error{errc::protocol, "the other side is not a Troupe node"};
    if (v != version)
        return error{errc::refused, "the other side speaks version " + std::to_string(v) +
                                        " of the handshake, this build version " +
                                        std::to_string(version)};
    return {};
}

} // namespace

handshake_nonce random_nonce() {
    require_sodium();
    handshake_nonce nonce;
    randombytes_buf(nonce.data(), nonce.size());
    return nonce;
}

bool same_token(const wire::connection_token& a, const wire::connection_token& b) noexcept {
    return sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

handshake::handshake(handshake_side side, std::string_view cluster_key,
                     const handshake_nonce& nonce)
    : side_{side}, step_{side == handshake_side::acceptor ? step::want_response
                                                          : step::want_challenge},
      has_key_{!cluster_key.empty()} {
    require_sodium();
    (side == handshake_side::acceptor ? acceptor_nonce_ : connector_nonce_) = nonce;
    constexpr std::string_view label = "troupe cluster key";
    crypto_generichash(
        raw(key_.data()), key_.size(), reinterpret_cast<const unsigned char*>(cluster_key.data()),
        cluster_key.size(), reinterpret_cast<const unsigned char*>(label.data()), label.size());
}

std::vector<std::byte> handshake::begin() const {
    return side_ == handshake_side::acceptor ? prefixed(acceptor_nonce_, challenge_bytes)
                                             : std::vector<std::byte>{};
}

std::size_t handshake::wanted() const noexcept {
    switch (step_) {
    case step::want_challenge:
        return challenge_bytes;
    case step::want_response:
        return response_bytes;
    case step::want_answer:
        return answer_bytes;
    case step::done:
    case step::failed:
        break;
    }
    return 0;
}

result<std::vector<std::byte>> handshake::advance(std::span<const std::byte> in) {
    TROUPE_CHECK(in.size() == wanted() && !in.empty(), "a handshake advances by what it wants");
    const step current = step_;
    step_ = step::failed;
    switch (current) {
    case step::want_challenge:
        return answer_challenge(in);
    case step::want_response:
        return answer_response(in);
    default:
        return admit_answer(in);
    }
}

std::vector<std::byte> handshake::last_words() const {
    std::vector<std::byte> out;
    if (refused_key_) {
        out.resize(answer_bytes);
        out[0] = status_wrong_key;
    }
    return out;
}

// No more can be said: a proof only shows whether it fits.
error handshake::other_key() const {
    return {errc::refused,
            has_key_ ? "the keys differ; give both sides the same file by --key FILE, or neither"
                     : "a key is wanted; give the cluster's by --key FILE"};
}

const session_secrets& handshake::secrets() const {
    TROUPE_CHECK(step_ == step::done, "there is no session before the proof");
    return secrets_;
}

result<std::vector<std::byte>> handshake::answer_challenge(std::span<const std::byte> in) {
    if (const auto ok = check_prefix(in); !ok)
        return ok.failure();
    std::memcpy(acceptor_nonce_.data(), in.data() + prefix_bytes, acceptor_nonce_.size());
    auto out = prefixed(connector_nonce_, response_bytes);
    const secret_key proof = keyed("troupe proof of connector");
    std::memcpy(out.data() + challenge_bytes, proof.data(), proof.size());
    step_ = step::want_answer;
    return out;
}

result<std::vector<std::byte>> handshake::answer_response(std::span<const std::byte> in) {
    if (const auto ok = check_prefix(in); !ok)
        return ok.failure();
    std::memcpy(connector_nonce_.data(), in.data() + prefix_bytes, connector_nonce_.size());
    const secret_key expected = keyed("troupe proof of connector");
    if (sodium_memcmp(expected.data(), in.data() + challenge_bytes, expected.size()) != 0) {
        refused_key_ = true;
        return other_key();
    }
    std::vector<std::byte> out(answer_bytes);
    out[0] = status_accepted;
    const secret_key proof = keyed("troupe proof of acceptor");
    std::memcpy(out.data() + prefix_bytes, proof.data(), proof.size());
    derive();
    return out;
}

result<std::vector<std::byte>> handshake::admit_answer(std::span<const std::byte> in) {
    const secret_key expected = keyed("troupe proof of acceptor");
    if (in[0] != status_accepted ||
        sodium_memcmp(expected.data(), in.data() + prefix_bytes, expected.size()) != 0)
        return other_key();
    derive();
    return std::vector<std::byte>{};
}

secret_key handshake::keyed(std::string_view label) const {
    secret_key out;
    crypto_auth_hmacsha512256_state state;
    crypto_auth_hmacsha512256_init(&state, raw(key_.data()), key_.size());
    crypto_auth_hmacsha512256_update(&state, reinterpret_cast<const unsigned char*>(label.data()),
                                     label.size());
    crypto_auth_hmacsha512256_update(&state, raw(acceptor_nonce_.data()), acceptor_nonce_.size());
    crypto_auth_hmacsha512256_update(&state, raw(connector_nonce_.data()), connector_nonce_.size());
    crypto_auth_hmacsha512256_final(&state, raw(out.data()));
    return out;
}

void handshake::derive() {
    const secret_key session = keyed("troupe session key");
    const auto derived = [&](std::uint64_t number, auto& out) {
        crypto_kdf_derive_from_key(raw(out.data()), out.size(), number, "troupe01",
                                   raw(session.data()));
    };
    const bool connector = side_ == handshake_side::connector;
    derived(1, connector ? secrets_.send_key : secrets_.receive_key);
    derived(2, connector ? secrets_.receive_key : secrets_.send_key);
    derived(3, connector ? secrets_.send_token : secrets_.receive_token);
    derived(4, connector ? secrets_.receive_token : secrets_.send_token);
    step_ = step::done;
}

// --- messages after the proof

namespace {

secret_key mac_of(const secret_key& key, std::uint64_t number, std::span<const std::byte> payload) {
    secret_key out;
    crypto_auth_hmacsha512256_state state;
    crypto_auth_hmacsha512256_init(&state, raw(key.data()), key.size());
    crypto_auth_hmacsha512256_update(&state, reinterpret_cast<const unsigned char*>(&number),
                                     sizeof number);
    crypto_auth_hmacsha512256_update(&state, raw(payload.data()), payload.size());
    crypto_auth_hmacsha512256_final(&state, raw(out.data()));
    return out;
}

} // namespace

std::vector<std::byte> sealed_messages::seal(std::span<const std::byte> payload) {
    TROUPE_CHECK(!payload.empty() && payload.size() <= limits::control_bytes_max,
                 "control messages are bounded by what goes into them");
    const auto length = static_cast<std::uint32_t>(payload.size());
    const secret_key mac = mac_of(secrets_.send_key, sent_++, payload);
    std::vector<std::byte> out(head_bytes + payload.size());
    std::memcpy(out.data(), &length, sizeof length);
    std::memcpy(out.data() + 4, mac.data(), mac.size());
    std::memcpy(out.data() + head_bytes, payload.data(), payload.size());
    return out;
}

result<std::size_t> sealed_messages::payload_bytes(std::span<const std::byte, head_bytes> head) {
    std::uint32_t length;
    std::memcpy(&length, head.data(), sizeof length);
    if (length == 0 || length > limits::control_bytes_max)
        return error{errc::protocol, "a control message of " + std::to_string(length) + " bytes"};
    return std::size_t{length};
}

result<void> sealed_messages::open(std::span<const std::byte, head_bytes> head,
                                   std::span<const std::byte> payload) {
    const secret_key expected = mac_of(secrets_.receive_key, received_++, payload);
    if (sodium_memcmp(expected.data(), head.data() + 4, expected.size()) != 0)
        return error{errc::protocol, "a control message that its sender has not made"};
    return {};
}

} // namespace troupe
