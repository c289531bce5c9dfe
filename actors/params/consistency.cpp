#include "actors/params/consistency.hpp"

#include <algorithm>

namespace troupe {

std::size_t consistency::gradients_per_update(std::size_t workers) const noexcept {
    if (is_synchronous())
        return workers;
    if (splits)
        return std::max<std::size_t>(1, workers / std::max(1u, *splits));
    if (backups)
        return workers - std::min<std::size_t>(*backups, workers - 1);
    return 1;
}

float consistency::share(std::uint64_t updates_late, std::size_t gradients) const noexcept {
    if (!splits && !backups)
        return 1;
    const std::uint64_t lateness = splits ? std::max<std::uint64_t>(1, updates_late) : 1;
    return 1 / (static_cast<float>(gradients) * static_cast<float>(lateness));
}

bool worker_clocks::all_done() const noexcept {
    return active() == 0;
}

std::size_t worker_clocks::active() const noexcept {
    return static_cast<std::size_t>(std::ranges::count(done_, false));
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
