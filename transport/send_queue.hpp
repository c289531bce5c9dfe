// The frames that wait to be sent to one peer, with the accounting of those that are queued or under way (send_window.hpp).
// Any thread adds frames; whoever holds the sending half of the link takes them.
//
// Threads: any. Ownership: of the frames, until they are taken.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "transport/frame/wire.hpp"
#include "transport/send_window.hpp"

namespace troupe {

// Words and tensors.
inline std::uint64_t payload_bytes(const wire::header& measured) noexcept {
    return measured.words * sizeof(capnp::word) + measured.tensor_bytes;
}

class send_queue {
  public:
    struct entry {
        frame_ptr data;
        wire::header measured;
    };
    enum class outcome : std::uint8_t { accepted, congested, closed, overflow };

    explicit send_queue(const send_bounds& bounds) : window_{bounds} {}

    void open() {
        std::lock_guard guard{lock_};
        is_open_ = true;
    }
    // Accepts no more frames; those that are queued stay.
    void close() {
        std::lock_guard guard{lock_};
        is_open_ = false;
    }
    // As close(), and returns the queued frames, to be freed by the caller.
    std::deque<entry> clear() {
        std::lock_guard guard{lock_};
        is_open_ = false;
        return std::exchange(frames_, {});
    }

    outcome push(frame_ptr f, const wire::header& measured) {
        const std::uint64_t bytes = payload_bytes(measured);
        std::lock_guard guard{lock_};
        if (!is_open_)
            return outcome::closed;
        if (window_.overflows_with(bytes))
            return outcome::overflow;
        const bool is_congested = window_.add(bytes);
        frames_.push_back({std::move(f), measured});
        return is_congested ? outcome::congested : outcome::accepted;
    }

    std::optional<entry> pop() {
        std::lock_guard guard{lock_};
        if (frames_.empty())
            return std::nullopt;
        entry next = std::move(frames_.front());
        frames_.pop_front();
        return next;
    }

    // A frame of so many bytes, popped before, has left. True if the peer is writable again.
    bool sent(std::uint64_t bytes) {
        std::lock_guard guard{lock_};
        bytes_sent_ += bytes;
        return window_.remove(bytes) && is_open_;
    }

    // The bytes of all frames that have left.
    std::uint64_t bytes_sent() const {
        std::lock_guard guard{lock_};
        return bytes_sent_;
    }

    bool empty() const {
        std::lock_guard guard{lock_};
        return frames_.empty();
    }

  private:
    mutable std::mutex lock_;
    std::deque<entry> frames_;
    send_window window_;
    std::uint64_t bytes_sent_ = 0;
    bool is_open_ = false; // frames are accepted
};

} // namespace troupe
