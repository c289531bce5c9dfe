// One TCP connection between two nodes: first the proof of the key, then sealed control messages. It moves the bytes
// of transport/handshake/ over a non-blocking socket.
//
// Threads: one. Errors: those of the handshake; errc::lost if a proven connection ends, errc::unreachable if one ends
// before.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/handshake/control.hpp"
#include "transport/handshake/handshake.hpp"
#include "transport/tcp/socket.hpp"

namespace troupe {

class control_connection {
  public:
    // A connector's socket may still be connecting. `on_loopback` is as in handshake.
    control_connection(file_descriptor socket, handshake_side side,
                       const std::vector<cluster_key>& keys, bool on_loopback = false);

    // Does all that is possible without waiting and appends messages that have arrived, a few at a time: the descriptor
    // stays readable while there are more. Nothing is read beyond a frames_message. After an error the connection is over.
    result<void> advance(std::vector<control_message>& arrived);

    // Queues a message and sends as much as possible. Only once proven.
    void send(const control_message& message);

    // Tells a refused peer that it is refused, as far as possible without waiting.
    void send_last_words();

    bool is_connected() const noexcept { return !connecting_; }
    // The other side has shown that it holds the key, and that it is there now.
    bool proven() const noexcept { return is_proven_; }
    const session_secrets& secrets() const { return handshake_.secrets(); }
    bool wants_to_write() const noexcept { return connecting_ || !outgoing_.empty(); }
    int descriptor() const noexcept { return socket_.get(); }

    // Gives the connection away, once all that was sent has left. errc::protocol if the other side has said anything since
    // the proof that was no whole message.
    result<file_descriptor> take_socket();

  private:
    // Fills `incoming_` to `wanted` bytes; false if they have not arrived yet.
    result<bool> read_up_to(std::size_t wanted);
    result<void> write_some();
    void queue(std::span<const std::byte> bytes);
    result<bool> advance_proof();
    result<bool> advance_messages(std::vector<control_message>& arrived);

    file_descriptor socket_;
    bool connecting_;
    handshake_side side_;
    handshake handshake_;
    bool is_proven_ = false;
    std::optional<sealed_messages> sealed_;
    std::vector<std::byte> incoming_;
    std::vector<std::byte> outgoing_;
};

} // namespace troupe
