#include "transport/handshake/handshake.hpp"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "schemas/base/limits.hpp"
#include "schemas/base/nearest.hpp"

namespace troupe {

namespace {

constexpr std::uint32_t magic = 0x48505254; // "TRPH"
constexpr std::uint16_t version = 3;
constexpr std::size_t prefix_bytes = 8;
constexpr std::size_t first_challenge_bytes = 40; // what a connector of version 1 awaits
constexpr std::byte status_proof{0};
constexpr std::byte status_wrong_key{1};

static_assert(prefix_bytes + noise_handshake::message_bytes <= limits::handshake_bytes_max);
static_assert(first_challenge_bytes <= limits::handshake_bytes_max);

using prefix = std::array<std::byte, prefix_bytes>;

prefix prefix_of(std::byte status) {
    prefix out{};
    std::memcpy(out.data(), &magic, sizeof magic);
    std::memcpy(out.data() + 4, &version, sizeof version);
    out[6] = status;
    return out;
}

// This prefix, zero-padded to a message of `size` bytes.
std::vector<std::byte> padded(std::byte status, std::size_t size) {
    const prefix first = prefix_of(status);
    std::vector<std::byte> out{first.begin(), first.end()};
    out.resize(size);
    return out;
}

std::vector<std::byte> with_prefix(const std::vector<std::byte>& message) {
    std::vector<std::byte> out = padded(status_proof, prefix_bytes);
    out.insert(out.end(), message.begin(), message.end());
    return out;
}

secret_key noise_key(std::string_view cluster_key) {
    constexpr std::string_view label = "troupe cluster key";
    secret_key out;
    crypto_generichash(reinterpret_cast<unsigned char*>(out.data()), out.size(),
                       reinterpret_cast<const unsigned char*>(cluster_key.data()),
                       cluster_key.size(), reinterpret_cast<const unsigned char*>(label.data()),
                       label.size());
    return out;
}

noise_side side_of(handshake_side side) {
    return side == handshake_side::connector ? noise_side::initiator : noise_side::responder;
}

error other_version(std::uint16_t theirs) {
    return {errc::refused, "the other side speaks version " + std::to_string(theirs) +
                               " of the handshake, this build version " + std::to_string(version) +
                               "; give all nodes the same release of Troupe"};
}

} // namespace

random_token draw_token() {
    TROUPE_CHECK(sodium_init() >= 0, "libsodium starts where there are random bytes");
    random_token token;
    randombytes_buf(token.data(), token.size());
    return token;
}

bool same_token(const wire::connection_token& a, const wire::connection_token& b) noexcept {
    return sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

session_secrets::~session_secrets() {
    for (secret_key* key : {&send_key, &receive_key, &frame_send_key, &frame_receive_key})
        sodium_memzero(key->data(), key->size());
}

handshake::handshake(handshake_side side, const std::vector<cluster_key>& keys,
                     const secret_key& ephemeral, bool on_loopback)
    : side_{side}, has_key_{!keys.empty() && !keys.front().secret.empty()}, on_loopback_{
                                                                                on_loopback} {
    TROUPE_CHECK(!keys.empty(), "a side holds a key, if only the empty one");
    const std::size_t held = side == handshake_side::connector ? 1 : keys.size();
    for (const cluster_key& key : std::span{keys}.first(held)) {
        noise_.emplace_back(side_of(side), noise_key(key.secret), prefix_of(status_proof),
                            ephemeral);
        key_for_.push_back(key.role);
    }
}

std::vector<std::byte> handshake::begin() {
    return side_ == handshake_side::connector ? with_prefix(noise_.front().write())
                                              : std::vector<std::byte>{};
}

std::size_t handshake::wanted() const noexcept {
    switch (step_) {
    case step::want_prefix:
        return prefix_bytes;
    case step::want_rest:
        return noise_handshake::message_bytes;
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
    return current == step::want_prefix ? admit_prefix(in) : admit_rest(in);
}

result<std::vector<std::byte>> handshake::admit_prefix(std::span<const std::byte> in) {
    std::uint32_t their_magic;
    std::uint16_t their_version;
    std::memcpy(&their_magic, in.data(), sizeof their_magic);
    std::memcpy(&their_version, in.data() + 4, sizeof their_version);
    if (their_magic != magic)
        return error{errc::protocol, "the other side is not a Troupe node"};
    if (their_version != version)
        return other_version(their_version);
    if (in[6] != status_proof)
        return other_key();
    step_ = step::want_rest;
    return std::vector<std::byte>{};
}

result<std::vector<std::byte>> handshake::admit_rest(std::span<const std::byte> in) {
    // All are tried, so that the time tells nobody which key it was.
    std::size_t proven = noise_.size();
    for (std::size_t key = 0; key < noise_.size(); ++key)
        if (noise_[key].read(in))
            proven = key;
    if (proven == noise_.size()) {
        refused_key_ = true;
        return other_key();
    }
    std::vector<std::byte> answer;
    if (side_ == handshake_side::acceptor)
        answer = with_prefix(noise_[proven].write());
    derive(proven);
    return answer;
}

std::vector<std::byte> handshake::last_words() const {
    if (side_ == handshake_side::connector)
        return {};
    if (refused_key_)
        return padded(status_wrong_key, prefix_bytes + noise_handshake::message_bytes);
    // A connector of version 1 waits for the acceptor to begin: it is told the version that this side has.
    if (step_ == step::want_prefix)
        return padded(status_proof, first_challenge_bytes);
    return {};
}

// No more can be said: a proof only shows whether it fits.
error handshake::other_key() const {
    if (!has_key_)
        return {errc::refused, "a key is wanted; give the cluster's by --key FILE"};
    std::vector<std::string> lines; // for the roles of this side's keys
    for (const auto& role : key_for_)
        if (role)
            lines.push_back("'" + std::string{word_of(*role)} + " KEY'");
    std::ranges::sort(lines);
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    if (lines.empty())
        return {errc::refused,
                std::string{"the keys differ; give both sides the same file by --key FILE"} +
                    (on_loopback_ ? ", or start both as one user without it" : "")};
    if (side_ == handshake_side::connector)
        return {errc::refused, "the keys differ; the file that the other side gets by --key FILE "
                               "needs a line " +
                                   alternatives(lines) + " of this side's file"};
    // The other side's role is not known.
    return {errc::refused, "the keys differ; this side's file has " + join(lines) +
                               ": what is for the other side's role must be the same line in both "
                               "files"};
}

const session_secrets& handshake::secrets() const {
    TROUPE_CHECK(step_ == step::done, "there is no session before the proof");
    return secrets_;
}

void handshake::derive(std::size_t key) {
    const auto agreed = noise_[key].finish("troupe frame tokens");
    const auto of_frames = noise_[key].finish("troupe frame keys");
    const auto token_of = [](const secret_key& secret) {
        wire::connection_token token;
        std::copy_n(secret.begin(), token.size(), token.begin());
        return token;
    };
    secrets_ = {agreed.send_key,
                agreed.receive_key,
                token_of(agreed.send_extra),
                token_of(agreed.receive_extra),
                of_frames.send_extra,
                of_frames.receive_extra,
                noise_[key].name(),
                key_for_[key]};
    noise_.clear(); // which wipes what the secrets come from
    step_ = step::done;
}

// --- messages after the proof

std::vector<std::byte> sealed_messages::seal(std::span<const std::byte> payload) {
    TROUPE_CHECK(!payload.empty() && payload.size() <= limits::control_bytes_max,
                 "control messages are bounded by what goes into them");
    const auto sealed = sending_.seal(payload);
    const auto length = static_cast<std::uint32_t>(sealed.size());
    std::vector<std::byte> out(head_bytes + sealed.size());
    std::memcpy(out.data(), &length, sizeof length);
    std::ranges::copy(sealed, out.begin() + head_bytes);
    return out;
}

result<std::size_t> sealed_messages::sealed_bytes(std::span<const std::byte, head_bytes> head) {
    std::uint32_t length;
    std::memcpy(&length, head.data(), sizeof length);
    if (length <= noise_cipher::tag_bytes ||
        length > limits::control_bytes_max + noise_cipher::tag_bytes)
        return error{errc::protocol, "a control message of " + std::to_string(length) + " bytes"};
    return std::size_t{length};
}

result<std::vector<std::byte>> sealed_messages::open(std::span<const std::byte> sealed) {
    auto payload = receiving_.open(sealed);
    if (!payload)
        return error{errc::protocol, "a control message that its sender has not made"};
    return payload;
}

} // namespace troupe
