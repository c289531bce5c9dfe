#include "actors/params/sharding.hpp"

#include <algorithm>
#include <limits>

#include "schemas/base/check.hpp"

namespace troupe {

std::vector<shard_range> cut_into_shards(std::span<const std::size_t> elements,
                                         std::size_t shards) {
    const std::size_t tensors = elements.size();
    TROUPE_CHECK(shards >= 1 && shards <= tensors, "every shard keeps a tensor");
    // least[k][t]: the largest of k ranges over the first t tensors; cut[k][t]: where the last of these begins.
    constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
    std::vector least(shards + 1, std::vector<std::size_t>(tensors + 1, never));
    std::vector cut(shards + 1, std::vector<std::size_t>(tensors + 1));
    least[0][0] = 0;
    for (std::size_t k = 1; k <= shards; ++k)
        for (std::size_t t = k; t <= tensors; ++t) {
            std::size_t last = 0; // elements of the last range
            for (std::size_t first = t; first-- > k - 1;) {
                last += elements[first];
                const std::size_t largest = std::max(least[k - 1][first], last);
                if (least[k - 1][first] != never && largest < least[k][t]) {
                    least[k][t] = largest;
                    cut[k][t] = first;
                }
            }
        }
    std::vector<shard_range> ranges(shards);
    std::size_t end = tensors;
    for (std::size_t k = shards; k > 0; --k) {
        ranges[k - 1] = {cut[k][end], end - cut[k][end]};
        end = cut[k][end];
    }
    return ranges;
}

} // namespace troupe
