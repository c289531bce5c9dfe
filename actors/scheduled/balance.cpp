#include "actors/scheduled/balance.hpp"

#include <numeric>

namespace troupe::scheduled {

std::vector<number_range> balanced_ranges(std::span<const std::uint64_t> work, std::size_t parts) {
    std::vector<number_range> ranges;
    const double total = std::accumulate(work.begin(), work.end(), 0.0);
    double before = 0; // of all numbers in front of `at`
    std::size_t at = 0;
    for (std::size_t p = 0; p < parts; ++p) {
        const std::size_t first = at;
        const double end = total * static_cast<double>(p + 1) / static_cast<double>(parts);
        const bool is_last = p + 1 == parts;
        // A number belongs to the share in which its middle lies.
        while (at < work.size() && (is_last || before + static_cast<double>(work[at]) / 2 < end))
            before += static_cast<double>(work[at++]);
        ranges.push_back({first, at - first});
    }
    return ranges;
}

} // namespace troupe::scheduled
