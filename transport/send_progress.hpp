// Distinguishes slow from stuck frames under way to a peer. A stuck transfer must not vouch for its sender, or the peer
// would wait for it forever.
//
// Frames are under way in order. Others may overtake the oldest and complete, as a heartbeat does while the peer fetches a
// large tensor, so only completion of the oldest counts as progress. It is stuck if it stays longer than all bytes under
// way would take at send_rate_min, plus the allowance.
//
// Threads: the progress thread.
#pragma once

#include <cstdint>
#include <optional>

#include "schemas/base/time_source.hpp"

namespace troupe {

inline constexpr std::uint64_t send_rate_min_bytes_per_s = 1'000'000;

// The frames under way to one peer. `oldest` is a sequence number.
struct frames_under_way {
    std::uint64_t oldest = 0;
    std::uint64_t bytes = 0;
};

class send_progress {
  public:
    // To be called regularly while frames are under way. `allowance`: time allowed in addition to the transfer.
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
    time_point since_; // since when it is the oldest
};

} // namespace troupe
