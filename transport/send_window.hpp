// Accounting of the frames queued for one peer, against the bounds at which senders are parked and the peer is given up.
// The rule is the same for every transport: `congested` above a soft bound, writable again at half of it.
//
// Threads: none of its own; the owner of the queue synchronises.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schemas/base/limits.hpp"

namespace troupe {

struct send_bounds {
    std::uint64_t bytes_soft = limits::peer_queue_bytes_soft;
    std::uint64_t bytes_hard = limits::peer_queue_bytes_hard;
    std::size_t frames_soft = limits::peer_queue_frames_soft;
};

class send_window {
  public:
    explicit send_window(const send_bounds& bounds) noexcept : bounds_{bounds} {}

    // True if another frame of `bytes` would exceed the hard bound.
    bool overflows_with(std::uint64_t bytes) const noexcept {
        return bytes_ + bytes > bounds_.bytes_hard;
    }

    // A frame enters the queue. True if its sender must wait for the peer to become writable.
    bool add(std::uint64_t bytes) noexcept {
        bytes_ += bytes;
        ++frames_;
        congested_ = congested_ || bytes_ > bounds_.bytes_soft || frames_ > bounds_.frames_soft;
        return congested_;
    }

    // A frame has left. True exactly once per congestion: the peer is writable again.
    bool remove(std::uint64_t bytes) noexcept {
        bytes_ -= bytes;
        --frames_;
        if (!congested_ || bytes_ > bounds_.bytes_soft / 2 || frames_ > bounds_.frames_soft / 2)
            return false;
        congested_ = false;
        return true;
    }

    std::uint64_t bytes() const noexcept { return bytes_; }
    std::size_t frames() const noexcept { return frames_; }

  private:
    send_bounds bounds_;
    std::uint64_t bytes_ = 0;
    std::size_t frames_ = 0;
    bool congested_ = false;
};

} // namespace troupe
