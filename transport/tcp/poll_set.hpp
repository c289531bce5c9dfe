// The descriptors on which the progress thread sleeps, each with a number by which its owner is found.
//
// Threads: one at a time, except that a descriptor may be watched, changed and forgotten by any. Errors: to watch a
// descriptor twice, or to forget one that is not watched, is a bug; a process without descriptors left is seen by operator
// bool.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "schemas/base/time_source.hpp"
#include "transport/tcp/socket.hpp"

namespace troupe {

enum class readiness : std::uint8_t { none, reading, writing, reading_or_writing };

class poll_set {
  public:
    poll_set();

    explicit operator bool() const noexcept { return static_cast<bool>(poll_); }

    // Reports the id from now on whenever the descriptor is ready for this.
    void watch(int descriptor, std::uint64_t id, readiness what = readiness::reading);
    void change(int descriptor, std::uint64_t id, readiness what);
    void forget(int descriptor);

    // The ids of descriptors that are ready, valid until the next call; waits for one, at most this long (none: for ever).
    std::span<const std::uint64_t> wait(std::optional<duration> at_most);

  private:
    void control(int operation, int descriptor, std::uint64_t id, readiness what);

    file_descriptor poll_;
    std::array<std::uint64_t, 64> ready_; // others are reported by the next wait
};

} // namespace troupe
