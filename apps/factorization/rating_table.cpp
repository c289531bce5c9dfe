#include "apps/factorization/rating_table.hpp"

#include <algorithm>

#include "schemas/base/check.hpp"

namespace troupe::factorization {

tile_plan tiles_of(std::span<const scheduled::number_range> ranges, std::uint64_t items_max) {
    tile_plan plan;
    plan.first.push_back(0);
    for (const scheduled::number_range& range : ranges) {
        const std::uint64_t parts = std::max<std::uint64_t>(
            1, (range.count + items_max - 1) / std::max<std::uint64_t>(1, items_max));
        for (std::uint64_t k = 0; k < parts; ++k) {
            const std::uint64_t begin = range.count * k / parts,
                                end = range.count * (k + 1) / parts;
            plan.tiles.push_back({range.first + begin, end - begin});
        }
        plan.first.push_back(plan.tiles.size());
    }
    return plan;
}

rating_table::rating_table(tile_plan plan) : plan_{std::move(plan)} {
    for (const scheduled::number_range& range : plan_.tiles)
        tiles_.push_back({range, {}, {}, {}, {}});
}

void rating_table::append(std::uint32_t user, std::span<const std::int32_t> items,
                          std::span<const float> values) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < items.size();) {
        const auto item = static_cast<std::uint64_t>(items[i]);
        while (at < tiles_.size() && item >= tiles_[at].range.first + tiles_[at].range.count)
            ++at;
        TROUPE_CHECK(at < tiles_.size() && item >= tiles_[at].range.first, "an item is in a tile");
        rating_tile& tile = tiles_[at];
        const std::uint64_t end = tile.range.first + tile.range.count;
        tile.users.push_back(user);
        tile.starts.push_back(tile.items.size());
        for (; i < items.size() && static_cast<std::uint64_t>(items[i]) < end; ++i) {
            tile.items.push_back(static_cast<std::uint32_t>(static_cast<std::uint64_t>(items[i]) -
                                                            tile.range.first));
            tile.values.push_back(values[i]);
        }
    }
    ratings_ += items.size();
}

void rating_table::finish() {
    for (rating_tile& tile : tiles_) {
        tile.starts.push_back(tile.items.size());
        tile.users.shrink_to_fit();
        tile.starts.shrink_to_fit();
        tile.items.shrink_to_fit();
        tile.values.shrink_to_fit();
    }
}

} // namespace troupe::factorization
