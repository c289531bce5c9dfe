// Which tensors of a stage's parameters each shard of a parameter server keeps. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace troupe {

// Tensors first .. first + count.
struct shard_range {
    std::size_t first = 0;
    std::size_t count = 0;

    friend bool operator==(const shard_range&, const shard_range&) = default;
};

// Consecutive ranges of whole tensors, none empty, whose largest is as small as can be. 1 <= shards <= elements.size(), the
// number of tensors.
std::vector<shard_range> cut_into_shards(std::span<const std::size_t> elements, std::size_t shards);

} // namespace troupe
