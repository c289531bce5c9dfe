#include "actors/params/consistency.hpp"

#include <algorithm>

namespace troupe {

bool worker_clocks::all_done() const noexcept {
    return std::ranges::all_of(done_, [](bool done) { return done; });
}

std::optional<std::size_t> worker_clocks::slowest() const noexcept {
    std::optional<std::size_t> slowest;
    for (std::size_t w = 0; w < clocks_.size(); ++w)
        if (!done_[w] && (!slowest || clocks_[w] < clocks_[*slowest]))
            slowest = w;
    return slowest;
}

std::optional<std::size_t> waits_for(const consistency& rule, const worker_clocks& clocks,
                                     std::uint64_t clock) {
    const auto slowest = clocks.slowest();
    if (!rule.staleness || !slowest || clocks.of(*slowest) + *rule.staleness >= clock)
        return std::nullopt;
    return slowest;
}

} // namespace troupe
