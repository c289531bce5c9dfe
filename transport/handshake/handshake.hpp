// Mutual proof of the cluster's key, and the authenticated messages that follow: bytes in, bytes out. handshake.md is the
// specification; the cryptography is libsodium's.
//
// No socket, time source or randomness of its own: the owner of the connection moves the bytes, watches the time and draws
// the nonce. Errors: errc::refused for a wrong key or version, errc::protocol if the other side is no Troupe node.
//
// Threads: one at a time per object.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "schemas/base/error.hpp"
#include "transport/frame/wire.hpp"

namespace troupe {

enum class handshake_side : std::uint8_t { connector, acceptor };

using handshake_nonce = std::array<std::byte, 32>;
using secret_key = std::array<std::byte, 32>;

// Random bytes from the system's generator, for keys and nonces.
handshake_nonce random_nonce();

// Compares in constant time.
bool same_token(const wire::connection_token& a, const wire::connection_token& b) noexcept;

// The secrets that both sides share after the proof.
struct session_secrets {
    secret_key send_key;
    secret_key receive_key;
    wire::connection_token send_token;    // of the frames that this side sends
    wire::connection_token receive_token; // of the frames that it accepts
};

class handshake {
  public:
    handshake(handshake_side side, std::string_view cluster_key, const handshake_nonce& nonce);

    // The first bytes to send: the acceptor's challenge; none from a connector.
    std::vector<std::byte> begin() const;

    // Number of bytes that advance() takes next; 0 once done.
    std::size_t wanted() const noexcept;

    // Takes exactly wanted() bytes and returns the bytes to send now. After an error, send last_words() and close.
    result<std::vector<std::byte>> advance(std::span<const std::byte> in);

    // The bytes that an acceptor sends to a peer that it refuses; empty otherwise.
    std::vector<std::byte> last_words() const;

    bool done() const noexcept { return wanted() == 0; }
    const session_secrets& secrets() const; // once done

  private:
    result<std::vector<std::byte>> answer_challenge(std::span<const std::byte> in);
    result<std::vector<std::byte>> answer_response(std::span<const std::byte> in);
    result<std::vector<std::byte>> admit_answer(std::span<const std::byte> in);
    secret_key keyed(std::string_view label) const;
    error other_key() const;
    void derive();

    enum class step : std::uint8_t { want_challenge, want_response, want_answer, done, failed };

    handshake_side side_;
    step step_;
    bool has_key_;
    bool refused_key_ = false;
    secret_key key_;
    handshake_nonce acceptor_nonce_{};
    handshake_nonce connector_nonce_{};
    session_secrets secrets_{};
};

// Seals and opens the messages after the proof.
class sealed_messages {
  public:
    static constexpr std::size_t head_bytes = 4 + 32;

    explicit sealed_messages(const session_secrets& secrets) : secrets_{secrets} {}

    // Returns a whole message; messages must be sent in the order of these calls.
    std::vector<std::byte> seal(std::span<const std::byte> payload);

    // The length of the payload that follows this head; errc::protocol past limits::control_bytes_max.
    static result<std::size_t> payload_bytes(std::span<const std::byte, head_bytes> head);

    // Checks that the next message is authentic.
    result<void> open(std::span<const std::byte, head_bytes> head,
                      std::span<const std::byte> payload);

  private:
    session_secrets secrets_;
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
};

} // namespace troupe
