// How far a worker may be behind, as pure arithmetic: which deltas it has applied when it computes a phase, and which phase
// becomes possible when another one has been folded.
//
// Phase k is computed after the deltas of exactly the phases below applied_before(k). In general these are the phases below
// k - window. If the variables rotate, the window counts turns: those of all but the last `window` turns before k. So the
// turns after a probe do not wait until the probe has been concluded, nor until all have come to it.
//
//     const staleness bound{.window = 1, .ring = rotation{.workers = 2, .per_worker = 2}};   // phase 4 is a probe
//     bound.applied_before(6);                            // 4: phase 6 is turn 5, turn 3 is phase 3
//     bound.first_after(4);                               // 7: the first one that needs the probe
//
// Threads: a value.
#pragma once

#include <cstdint>
#include <optional>

#include "actors/scheduled/rotation.hpp"

namespace troupe::scheduled {

struct staleness {
    std::uint32_t window = 0;
    std::optional<rotation> ring = {};

    // Never falls as k rises.
    std::uint64_t applied_before(std::uint64_t k) const noexcept {
        if (!ring)
            return k > window ? k - window : 0;
        const std::uint64_t turns = ring->turns_before(k);
        return turns > window ? ring->phase_of(turns - window - 1) + 1 : 0;
    }
    // The phase whose deltas a worker applies between the phases k - 1 and k. It is no probe of a rotation: workers are not
    // told of that one's deltas, which are none.
    std::optional<std::uint64_t> due_with(std::uint64_t k) const noexcept {
        if (k == 0 || applied_before(k) == applied_before(k - 1))
            return std::nullopt;
        return applied_before(k) - 1;
    }
    // The first phase that is computed after the deltas of phase m, and chosen after m has been folded.
    std::uint64_t first_after(std::uint64_t m) const noexcept {
        if (!ring)
            return m + window + 1;
        const std::uint64_t turns = ring->turns_before(m) + window + 1;
        return turns + (turns - 1) / ring->blocks(); // with the probes before that many turns
    }
};

} // namespace troupe::scheduled
