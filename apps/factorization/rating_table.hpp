// Ratings of a worker's users, by tiles: ranges of items that follow each other, few enough that their factors stay in a
// cache. Within a tile they are grouped by user, in the order of users, and of items for each.
//
//     rating_table table{tiles_of(site.blocks, stride)};
//     table.append(user, items, values);                 // users in order, each at most once; items rise
//     table.finish();
//     for (const rating_tile& tile : table.tiles()) ...
//
// Threads: a value. Errors: TROUPE_CHECK for items outside all tiles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "actors/scheduled/run_settings.hpp"
#include "apps/factorization/sgd_loops.hpp"

namespace troupe::factorization {

// `users[v]` has rated `items` [starts[v], starts[v + 1]), which count from the tile's first one.
struct rating_tile {
    scheduled::number_range range;
    std::vector<std::uint32_t> users;
    std::vector<std::uint64_t> starts;
    std::vector<std::uint32_t> items;
    std::vector<float> values;

    rating_view view() const noexcept {
        return {users.size(), users.data(), starts.data(), items.data(), values.data()};
    }
};

// Each range divided evenly into as few parts as have at most `items_max` items. Parts of range r are those from first[r] to
// first[r + 1] - 1.
struct tile_plan {
    std::vector<scheduled::number_range> tiles;
    std::vector<std::size_t> first;
};
tile_plan tiles_of(std::span<const scheduled::number_range> ranges, std::uint64_t items_max);

class rating_table {
  public:
    // The ranges of `plan` follow each other.
    explicit rating_table(tile_plan plan);

    void append(std::uint32_t user, std::span<const std::int32_t> items,
                std::span<const float> values);
    void finish();

    // Tiles of range r of the plan.
    std::span<const rating_tile> tiles(std::size_t r) const {
        return std::span{tiles_}.subspan(plan_.first[r], plan_.first[r + 1] - plan_.first[r]);
    }
    std::span<rating_tile> tiles(std::size_t r) {
        return std::span{tiles_}.subspan(plan_.first[r], plan_.first[r + 1] - plan_.first[r]);
    }
    std::span<const rating_tile> tiles() const { return tiles_; }
    std::span<rating_tile> tiles() { return tiles_; }
    std::size_t ranges() const noexcept { return plan_.first.size() - 1; }
    std::uint64_t ratings() const noexcept { return ratings_; }

  private:
    tile_plan plan_;
    std::vector<rating_tile> tiles_;
    std::uint64_t ratings_ = 0;
};

} // namespace troupe::factorization
