// Whether the frames under way to a peer are slow or stuck. A stuck transfer must not vouch for its sender, or the peer
// would wait for it without an end.
//
// Frames are under way in order. Others may overtake the oldest and complete, as a heartbeat does while the peer fetches
// a large tensor, so progress is only that the oldest has gone. It is stuck if it stays longer than all bytes under way
// would take at send_rate_min, and the allowance.
//
// Threads: none of its own; the progress thread's.
#pragma once

#include <cstdint>
#include <optional>

#include "schemas/base/clock.hpp"

namespace troupe {

inline constexpr std::uint64_t send_rate_min_bytes_per_s = 1'000'000;

// What is under way to one peer. The oldest frame is named by its sequence.
struct frames_under_way {
    std::uint64_t oldest = 0;
    std::uint64_t bytes = 0;
};

class send_progress {
  public:
    // To be asked now and then while something is under way. `allowance`: what may pass beside the transfer itself.
    bool is_stuck(const frames_under_way& frames, duration allowance, time_point now) {
        if (oldest_ != frames.oldest) {
            oldest_ = frames.oldest;
            since_ = now;
        }
        const std::chrono::duration<double> transfer{static_cast<double>(frames.bytes) /
                                                     send_rate_min_bytes_per_s};
        return now - since_ > transfer + allowance;
    }

  private:
    std::optional<std::uint64_t> oldest_;
    time_point since_; // it is the oldest
};

} // namespace troupe
