// Mutual proof of the cluster's key, and the sealed messages that follow: bytes in, bytes out. handshake.md is the
// specification; the handshake is Noise's (noise.hpp).
//
// No socket, time source or randomness of its own: the owner of the connection moves the bytes, watches the time and draws
// the ephemeral key. Errors: errc::refused for a wrong key or version, errc::protocol if the other side is no Troupe node.
//
// Threads: one at a time per object.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "schemas/base/error.hpp"
#include "transport/frame/wire.hpp"
#include "transport/handshake/cluster_keys.hpp"
#include "transport/handshake/noise.hpp"

namespace troupe {

enum class handshake_side : std::uint8_t { connector, acceptor };

using random_token = std::array<std::byte, 32>;

// Random bytes from the system's generator, for keys and marks.
random_token draw_token();

// Compares in constant time.
bool same_token(const wire::connection_token& a, const wire::connection_token& b) noexcept;

// Both sides share this after the proof.
struct session_secrets {
    ~session_secrets(); // wipes them

    secret_key send_key;
    secret_key receive_key;
    wire::connection_token send_token;    // of the frames that this side sends
    wire::connection_token receive_token; // of the frames that it accepts
    secret_key frame_send_key;            // of a second connection, for the frames on it
    secret_key frame_receive_key;
    noise_hash name;                  // of the connection; not secret
    std::optional<peer_role> key_for; // whom the key that was proven lets in; none: everybody
};

class handshake {
  public:
    // A connector offers the first of the keys, an acceptor takes any of them; at least one. `ephemeral`: random bytes
    // that are used for nothing else. `on_loopback`: the other side is at a loopback address, where a user's own key would
    // do; for the advice of errors alone.
    handshake(handshake_side side, const std::vector<cluster_key>& keys,
              const secret_key& ephemeral, bool on_loopback = false);

    // The first bytes to send: the connector's opening; none from an acceptor. Call once.
    std::vector<std::byte> begin();

    // Number of bytes that advance() takes next; 0 once done.
    std::size_t wanted() const noexcept;

    // Takes exactly wanted() bytes and returns the bytes to send now. After an error, send last_words() and close.
    result<std::vector<std::byte>> advance(std::span<const std::byte> in);

    // The bytes that an acceptor sends to a peer that it refuses or has not heard; empty otherwise.
    std::vector<std::byte> last_words() const;

    // The connector has seen the acceptor's proof then. The acceptor has seen the connector's only once it has opened a
    // sealed message: an opening may be an old one that somebody sends again.
    bool done() const noexcept { return step_ == step::done; }
    const session_secrets& secrets() const; // once done

  private:
    enum class step : std::uint8_t { want_prefix, want_rest, done, failed };

    result<std::vector<std::byte>> admit_prefix(std::span<const std::byte> in);
    result<std::vector<std::byte>> admit_rest(std::span<const std::byte> in);
    error other_key() const;
    void derive(std::size_t key);

    handshake_side side_;
    step step_ = step::want_prefix;
    bool has_key_;
    bool on_loopback_;
    bool refused_key_ = false;
    // One for each key: which of them the connector has offered shows when its opening has come.
    std::vector<noise_handshake> noise_;
    std::vector<std::optional<peer_role>> key_for_;
    session_secrets secrets_{};
};

// Seals and opens the messages after the proof.
class sealed_messages {
  public:
    static constexpr std::size_t head_bytes = 4;

    explicit sealed_messages(const session_secrets& secrets)
        : sending_{secrets.send_key}, receiving_{secrets.receive_key} {}

    // Returns a whole message; messages must be sent in the order of these calls.
    std::vector<std::byte> seal(std::span<const std::byte> payload);

    // The number of bytes that follow this head; errc::protocol where the payload would be empty or past
    // limits::control_bytes_max.
    static result<std::size_t> sealed_bytes(std::span<const std::byte, head_bytes> head);

    // The payload of the next message. errc::protocol for bytes that its sender has not made, or not as the next ones.
    result<std::vector<std::byte>> open(std::span<const std::byte> sealed);

  private:
    noise_cipher sending_;
    noise_cipher receiving_;
};

} // namespace troupe
