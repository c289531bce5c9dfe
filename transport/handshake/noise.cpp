#include "transport/handshake/noise.hpp"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>

namespace troupe {

namespace {

constexpr std::string_view protocol_name = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2b";
constexpr std::size_t block_bytes = 128; // of BLAKE2b

static_assert(sizeof(secret_key) == crypto_aead_chacha20poly1305_ietf_KEYBYTES &&
              sizeof(secret_key) == crypto_scalarmult_curve25519_BYTES &&
              sizeof(secret_key) == crypto_scalarmult_curve25519_SCALARBYTES);
static_assert(noise_cipher::tag_bytes == crypto_aead_chacha20poly1305_ietf_ABYTES);
static_assert(protocol_name.size() <= sizeof(noise_hash));

using bytes_view = std::span<const std::byte>;

unsigned char* raw(std::byte* p) {
    return reinterpret_cast<unsigned char*>(p);
}
const unsigned char* raw(bytes_view bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}

noise_hash hash_of(std::initializer_list<bytes_view> parts) {
    noise_hash out;
    crypto_generichash_blake2b_state state;
    crypto_generichash_blake2b_init(&state, nullptr, 0, out.size());
    for (const bytes_view part : parts)
        crypto_generichash_blake2b_update(&state, raw(part), part.size());
    crypto_generichash_blake2b_final(&state, raw(out.data()), out.size());
    return out;
}

// RFC 2104; libsodium has it for SHA-2 alone.
noise_hash hmac(const noise_hash& key, bytes_view first, bytes_view second = {}) {
    std::array<std::byte, block_bytes> inner_pad{}, outer_pad{};
    std::ranges::copy(key, inner_pad.begin());
    outer_pad = inner_pad;
    for (std::byte& b : inner_pad)
        b ^= std::byte{0x36};
    for (std::byte& b : outer_pad)
        b ^= std::byte{0x5c};
    return hash_of({outer_pad, hash_of({inner_pad, first, second})});
}

struct derived {
    noise_hash first, second, third;
};

// HKDF of the framework (section 4.3).
derived derive(const noise_hash& chain, bytes_view material) {
    const noise_hash key = hmac(chain, material);
    const auto number = [](std::byte n) { return std::array{n}; };
    derived out;
    out.first = hmac(key, number(std::byte{1}));
    out.second = hmac(key, out.first, number(std::byte{2}));
    out.third = hmac(key, out.second, number(std::byte{3}));
    return out;
}

secret_key key_of(const noise_hash& hash) {
    secret_key out;
    std::copy_n(hash.begin(), out.size(), out.begin());
    return out;
}

error not_by_a_holder() {
    return {errc::refused, "bytes that no holder of the key has made"};
}

} // namespace

// --- messages

noise_cipher::~noise_cipher() {
    sodium_memzero(key_.data(), key_.size());
}

namespace {

using cipher_nonce = std::array<unsigned char, crypto_aead_chacha20poly1305_ietf_NPUBBYTES>;

// Four zeros, and the number with its lowest byte first.
cipher_nonce nonce_of(std::uint64_t number) {
    cipher_nonce nonce{};
    for (std::size_t i = 4; i < nonce.size(); ++i, number >>= 8)
        nonce[i] = static_cast<unsigned char>(number);
    return nonce;
}

} // namespace

std::vector<std::byte> noise_cipher::seal(bytes_view text, bytes_view beside) {
    std::vector<std::byte> out(text.size() + tag_bytes);
    crypto_aead_chacha20poly1305_ietf_encrypt(raw(out.data()), nullptr, raw(text), text.size(),
                                              raw(beside), beside.size(), nullptr,
                                              nonce_of(number_++).data(), raw(bytes_view{key_}));
    return out;
}

result<std::vector<std::byte>> noise_cipher::open(bytes_view sealed, bytes_view beside) {
    if (sealed.size() < tag_bytes)
        return not_by_a_holder();
    std::vector<std::byte> out(sealed.size() - tag_bytes);
    if (crypto_aead_chacha20poly1305_ietf_decrypt(
            raw(out.data()), nullptr, nullptr, raw(sealed), sealed.size(), raw(beside),
            beside.size(), nonce_of(number_).data(), raw(bytes_view{key_})) != 0)
        return not_by_a_holder();
    ++number_;
    return out;
}

// --- the handshake

noise_handshake::noise_handshake(noise_side side, const secret_key& key, bytes_view prologue,
                                 const secret_key& ephemeral)
    : side_{side}, ephemeral_{ephemeral} {
    TROUPE_CHECK(sodium_init() >= 0, "libsodium starts where there are random bytes");
    std::memcpy(hash_.data(), protocol_name.data(), protocol_name.size());
    chain_ = hash_;
    mix_hash(prologue);
    mix_key_and_hash(key);
}

noise_handshake::~noise_handshake() {
    sodium_memzero(ephemeral_.data(), ephemeral_.size());
    sodium_memzero(chain_.data(), chain_.size());
    sodium_memzero(cipher_key_.data(), cipher_key_.size());
}

void noise_handshake::mix_hash(bytes_view data) {
    hash_ = hash_of({hash_, data});
}

void noise_handshake::mix_key(bytes_view material) {
    const derived next = derive(chain_, material);
    chain_ = next.first;
    cipher_key_ = key_of(next.second);
}

void noise_handshake::mix_key_and_hash(bytes_view material) {
    const derived next = derive(chain_, material);
    chain_ = next.first;
    mix_hash(next.second);
    cipher_key_ = key_of(next.third);
}

// A point of small order leaves zeros, as the framework has it: only a holder of the key can send one, to its own harm.
void noise_handshake::mix_shared_secret() {
    secret_key shared{};
    if (crypto_scalarmult_curve25519(raw(shared.data()), raw(bytes_view{ephemeral_}),
                                     raw(bytes_view{remote_public_})) != 0)
        shared = {};
    mix_key(shared);
    sodium_memzero(shared.data(), shared.size());
}

std::vector<std::byte> noise_handshake::write(bytes_view text) {
    TROUPE_CHECK(messages_ == (side_ == noise_side::initiator ? 0u : 1u),
                 "the sides of a handshake take turns");
    ++messages_;
    secret_key own_public; // made here, as strangers come who are not answered
    crypto_scalarmult_curve25519_base(raw(own_public.data()), raw(bytes_view{ephemeral_}));
    mix_hash(own_public);
    mix_key(own_public);
    if (side_ == noise_side::responder)
        mix_shared_secret();
    std::vector<std::byte> out{own_public.begin(), own_public.end()};
    const auto sealed = noise_cipher{cipher_key_}.seal(text, hash_);
    mix_hash(sealed);
    out.insert(out.end(), sealed.begin(), sealed.end());
    return out;
}

result<std::vector<std::byte>> noise_handshake::read(bytes_view message) {
    TROUPE_CHECK(messages_ == (side_ == noise_side::responder ? 0u : 1u),
                 "the sides of a handshake take turns");
    if (message.size() < message_bytes)
        return not_by_a_holder();
    ++messages_;
    std::copy_n(message.begin(), remote_public_.size(), remote_public_.begin());
    mix_hash(remote_public_);
    mix_key(remote_public_);
    if (side_ == noise_side::initiator)
        mix_shared_secret();
    const bytes_view sealed = message.subspan(remote_public_.size());
    auto text = noise_cipher{cipher_key_}.open(sealed, hash_);
    mix_hash(sealed);
    return text;
}

noise_handshake::outcome noise_handshake::finish(std::string_view label) const {
    TROUPE_CHECK(messages_ == 2, "a handshake has two messages");
    const derived keys = derive(chain_, {});
    const derived extra = derive(chain_, std::as_bytes(std::span{label}));
    const bool initiator = side_ == noise_side::initiator;
    const secret_key key_1 = key_of(keys.first), key_2 = key_of(keys.second);
    const secret_key extra_1 = key_of(extra.first), extra_2 = key_of(extra.second);
    return {initiator ? key_1 : key_2, initiator ? key_2 : key_1, initiator ? extra_1 : extra_2,
            initiator ? extra_2 : extra_1};
}

} // namespace troupe
