#include "actors/scheduled/balance.hpp"

#include <algorithm>
#include <numeric>

#include "schemas/base/check.hpp"

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

namespace {

// Every share has at least one: boundaries are moved where work alone would leave a share empty.
std::vector<number_range> filled(std::vector<number_range> ranges, std::uint64_t count) {
    const std::uint64_t parts = ranges.size();
    TROUPE_CHECK(parts <= count, "there are enough for all shares");
    for (std::uint64_t p = 0; p + 1 < parts; ++p) {
        const std::uint64_t first = ranges[p].first;
        const std::uint64_t end =
            std::clamp(ranges[p + 1].first, first + 1, count - (parts - 1 - p));
        ranges[p].count = end - first;
        ranges[p + 1].count = ranges[p + 1].first + ranges[p + 1].count - end;
        ranges[p + 1].first = end;
    }
    ranges.back().count = count - ranges.back().first;
    return ranges;
}

} // namespace

run_shares share_out(const piece_source& data, const share_counts& among) {
    run_shares shares;
    shares.data = data.shape();
    std::vector<std::uint64_t> work(shares.data.rows);
    for (std::uint64_t r = 0; r < work.size(); ++r)
        work[r] = data.row_work(r) + 1; // a row without entries makes some work, too
    if (among.all_rows)
        shares.rows.assign(among.workers, {0, work.size()});
    else
        shares.rows = filled(balanced_ranges(work, among.workers), work.size());
    for (const number_range& rows : shares.rows) {
        std::uint64_t entries = 0;
        for (std::uint64_t r = rows.first; r < rows.first + rows.count; ++r)
            entries += data.row_entries(r);
        shares.entries.push_back(entries);
    }
    work.resize(shares.data.columns);
    for (std::uint64_t c = 0; c < work.size(); ++c)
        work[c] = data.column_work(c) + 1;
    shares.variables = filled(balanced_ranges(work, among.schedulers), work.size());
    if (among.blocks > 0)
        shares.blocks = filled(balanced_ranges(work, among.blocks), work.size());
    return shares;
}

} // namespace troupe::scheduled
