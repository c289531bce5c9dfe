// Settings of the links of an endpoint, of either kind: memory, time, and bounds.
#pragma once

#include <chrono>
#include <cstdint>

#include "kernels/tensor/memory.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/time_source.hpp"

namespace troupe {

struct link_settings {
    memory_pool* pool = nullptr; // memory for received tensors; must outlive every received frame
    const time_source* time = nullptr; // for time-outs; must outlive the endpoint
    // Time for the pool to get room for a frame; after that its peer is lost.
    duration memory_timeout = std::chrono::seconds{30};
    duration drain_timeout = std::chrono::seconds{5}; // of close(), for queued frames
    // Rounds of progress after its last news in which a peer's link is polled every time; then only in its turn.
    std::uint64_t busy_rounds = 1000;
    std::uint64_t backlog_bytes_max = limits::peer_backlog_bytes_max; // per peer
};

} // namespace troupe
