// Counts of updates as they stand in messages: of a stage's or a shard's parameters, in their order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <capnp/list.h>

namespace troupe {

inline void write_counts(capnp::List<std::uint64_t>::Builder to,
                         std::span<const std::uint64_t> counts) {
    for (unsigned i = 0; i < to.size(); ++i)
        to.set(i, counts[i]);
}

inline std::vector<std::uint64_t> read_counts(capnp::List<std::uint64_t>::Reader from) {
    std::vector<std::uint64_t> counts;
    for (const std::uint64_t count : from)
        counts.push_back(count);
    return counts;
}

} // namespace troupe
