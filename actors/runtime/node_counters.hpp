// Private to actors/runtime: counts of what a node drops, and of its actors that fail. Any thread may add to them; they
// order nothing.
#pragma once

#include <atomic>
#include <cstdint>

#include "actors/runtime/node_runtime.hpp"

namespace troupe {

class node_counters {
  public:
    void add_rejected() noexcept { add(rejected_); }
    void add_malformed() noexcept { add(malformed_); }
    void add_misrouted() noexcept { add(misrouted_); }
    void add_lost() noexcept { add(lost_); }
    void add_failed() noexcept { add(failed_); }

    node_statistics read() const noexcept {
        return {.frames_rejected = rejected_,
                .bodies_malformed = malformed_,
                .frames_misrouted = misrouted_,
                .frames_lost = lost_,
                .actors_failed = failed_};
    }

  private:
    using counter = std::atomic<std::uint64_t>;
    static void add(counter& one) noexcept { one.fetch_add(1, std::memory_order_relaxed); }

    counter rejected_{0};
    counter malformed_{0};
    counter misrouted_{0};
    counter lost_{0};
    counter failed_{0};
};

} // namespace troupe
