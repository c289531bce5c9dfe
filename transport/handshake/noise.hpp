// Noise_NNpsk0_25519_ChaChaPoly_BLAKE2b of the Noise Protocol Framework, revision 34 (noiseprotocol.org/noise.html): two
// messages by which two sides that hold the same key prove it to each other and agree on secrets that nobody else has,
// also not somebody who learns the key later. Curve, cipher and hash are libsodium's.
//
// Bytes in, bytes out: no socket, no randomness of its own. Objects with secrets wipe them at their end; outcomes do not.
//
// Threads: one at a time per object. Errors: errc::refused for bytes that are not by a holder of the key, and the object is
// of no use from then on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "schemas/base/error.hpp"

namespace troupe {

using secret_key = std::array<std::byte, 32>;
using noise_hash = std::array<std::byte, 64>;

// Seals and opens the messages of one direction by ChaCha20-Poly1305: each has a number of its own, 0, 1, 2, ...
class noise_cipher {
  public:
    static constexpr std::size_t tag_bytes = 16;

    explicit noise_cipher(const secret_key& key) : key_{key} {}
    noise_cipher(const noise_cipher&) = default;
    noise_cipher& operator=(const noise_cipher&) = default;
    ~noise_cipher();

    // The sealed text is tag_bytes longer. `beside`: bytes that are not sealed, and must be the same on the other side.
    std::vector<std::byte> seal(std::span<const std::byte> text,
                                std::span<const std::byte> beside = {});
    result<std::vector<std::byte>> open(std::span<const std::byte> sealed,
                                        std::span<const std::byte> beside = {});

  private:
    secret_key key_;
    std::uint64_t number_ = 0;
};

enum class noise_side : std::uint8_t { initiator, responder };

class noise_handshake {
  public:
    // Bytes that a message has beyond its text.
    static constexpr std::size_t message_bytes = 32 + noise_cipher::tag_bytes;

    // The secrets of a side once the second message is through.
    struct outcome {
        secret_key send_key;
        secret_key receive_key;
        // Further secrets of each direction, for another purpose than the cipher's.
        secret_key send_extra;
        secret_key receive_extra;
    };

    // `prologue`: bytes that both sides must have agreed on. `ephemeral`: 32 random bytes, never used twice.
    noise_handshake(noise_side side, const secret_key& key, std::span<const std::byte> prologue,
                    const secret_key& ephemeral);
    noise_handshake(const noise_handshake&) = default;
    noise_handshake& operator=(const noise_handshake&) = default;
    ~noise_handshake();

    // The initiator writes the first message and reads the second, the responder the reverse.
    std::vector<std::byte> write(std::span<const std::byte> text = {});
    result<std::vector<std::byte>> read(std::span<const std::byte> message);

    // After both messages. `label` says what the further secrets are for.
    outcome finish(std::string_view label) const;
    // A name of this handshake that both sides have and no other does; not secret.
    const noise_hash& name() const noexcept { return hash_; }

  private:
    void mix_hash(std::span<const std::byte> data);
    void mix_key(std::span<const std::byte> material);
    void mix_key_and_hash(std::span<const std::byte> material);
    void mix_shared_secret();

    noise_side side_;
    secret_key ephemeral_;
    secret_key remote_public_{};
    noise_hash chain_{};
    noise_hash hash_{};
    secret_key cipher_key_{};
    unsigned messages_ = 0; // written or read
};

} // namespace troupe
