// A link over TCP: the connection over which the frames of one peer travel, with its two halves.
//
//     waiting ──open──> open ──close──> closed     it may be closed from the beginning on
//
// Threads: flush() and what is atomic any; all else the progress thread. Ownership: of the connection.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "transport/tcp/poll_set.hpp"
#include "transport/tcp/stream_receiver.hpp"
#include "transport/tcp/stream_sender.hpp"

namespace troupe {

class frame_stream {
  public:
    // Keeps references. Events of the connection are reported by `poll` under this id.
    frame_stream(send_queue& queue, named_places& places, const wire::connection_token& send_token,
                 const stream_receiver::settings& receiving, poll_set& poll, std::uint64_t id);
    ~frame_stream() { close(); }

    bool is_open() const noexcept { return connection_ != nullptr; }
    std::uint64_t id() const noexcept { return id_; }

    // Frames are sent and received over this connection from now on. Once.
    void open(std::unique_ptr<byte_stream> connection);
    void close();

    // Any thread: writes queued frames, and sees to it that `poll` reports when the rest can be.
    stream_sender::outcome flush();
    // Appends frames that have arrived; returns the number of bytes read.
    result<std::size_t> receive(std::vector<frame_ptr>& arrived);

    // Any thread; see endpoint::bytes_moved.
    std::uint64_t bytes_moved() const;

    const stream_sender& sender() const noexcept { return sender_; }
    const stream_receiver& receiver() const noexcept { return receiver_; }
    // True if all that was queued has been given to the system.
    bool is_drained() { return sender_.is_drained(); }

  private:
    void await(bool reading, bool writing); // under the interest lock; nothing once it is closed

    stream_sender sender_;
    stream_receiver receiver_;
    poll_set& poll_;
    const std::uint64_t id_;
    std::unique_ptr<byte_stream> connection_;
    std::atomic<std::uint64_t> bytes_received_{0};
    mutable std::mutex interest_lock_; // for what is awaited of the socket
    bool awaits_reading_ = false;
    bool awaits_writing_ = false;
    bool may_await_ = false; // open, and not failed
};

} // namespace troupe
