// The sending half of a link over TCP: writes a peer's queued frames to its connection. Any thread that queues a frame
// writes it at once, unless another does so already; what the socket does not take is written when it is writable again.
//
// A frame's form in a stream stands in transport/frame/wire.md. Tensors are written from where they lie.
//
// Threads: any. Ownership: of the frames that are being written. Errors: has_failed, and the connection is over.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "transport/send_progress.hpp"
#include "transport/send_queue.hpp"
#include "transport/tcp/byte_stream.hpp"

namespace troupe {

class stream_sender {
  public:
    struct outcome {
        bool is_writable = false; // the peer is, again
        bool is_blocked = false; // the rest follows by another flush(), once the socket is writable
        bool has_failed = false;
    };

    // Keeps a reference to the queue.
    stream_sender(send_queue& queue, const wire::connection_token& token)
        : queue_{queue}, token_{token} {}
    stream_sender(const stream_sender&) = delete;
    stream_sender& operator=(const stream_sender&) = delete;

    // Frames go to `stream` from now on, which must outlive close().
    void open(byte_stream& stream);
    // Lets go of the frames; waits for the flush of another thread.
    void close();

    // Writes what there is, at most a few megabytes. Does nothing while another thread does.
    outcome flush();

    // True if nothing is left in the queue or to be written; false while another thread writes.
    bool is_drained();
    bool is_blocked() const noexcept { return is_blocked_.load(std::memory_order_relaxed); }
    // The frames that have been taken from the queue, now or before: the number of the next one.
    std::uint64_t frames() const noexcept { return next_sequence_.load(std::memory_order_relaxed); }
    std::uint64_t bytes_written() const noexcept {
        return bytes_written_.load(std::memory_order_relaxed);
    }
    // None if nothing is being written.
    std::optional<frames_under_way> under_way() const noexcept;

  private:
    struct outgoing {
        frame_ptr data;
        std::uint64_t bytes = 0;     // in the accounting of the queue
        std::vector<std::byte> head; // header and words
        std::vector<std::span<const std::byte>> tensors;
        std::size_t pieces_done = 0;
        std::size_t piece_at = 0; // bytes written of the next piece

        std::span<const std::byte> piece(std::size_t i) const {
            return i == 0 ? std::span<const std::byte>{head} : tensors[i - 1];
        }
        std::size_t pieces() const noexcept { return 1 + tensors.size(); }
    };

    outcome write(std::uint64_t& written); // adds what it has written in this flush
    void take_frames();
    std::span<const iovec> gather();
    bool advance(std::size_t written); // true if the peer is writable again
    void add(send_queue::entry next);

    send_queue& queue_;
    const wire::connection_token token_;
    std::mutex lock_; // for all that follows, but what is atomic
    byte_stream* stream_ = nullptr;
    std::deque<outgoing> frames_;
    std::vector<std::vector<std::byte>> heads_; // memory to be used again
    std::vector<iovec> gathered_;
    std::uint64_t gathered_bytes_ = 0;
    bool has_failed_ = false;
    std::atomic<std::uint64_t> next_sequence_{0};
    std::atomic<std::uint64_t> oldest_{0};     // of the frames that are being written
    std::atomic<std::uint64_t> bytes_left_{0}; // of these
    std::atomic<std::uint64_t> bytes_written_{0};
    std::atomic<bool> is_blocked_{false};
};

} // namespace troupe
