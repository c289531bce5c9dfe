// The ratings of a worker's users, those that it learns from and those that are held out, as they arrive.
//
// Threads: a value. Errors: errc::protocol for pieces that do not fit; errc::data for ratings that are no numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "actors/scheduled/data_pieces.hpp"
#include "actors/scheduled/program.hpp"
#include "apps/factorization/rating_level.hpp"
#include "apps/factorization/rating_table.hpp"

namespace troupe::factorization {

// Ratings by user: starts, items and values as of a sparse matrix.
struct rating_rows {
    std::vector<std::int64_t> starts{0};
    std::vector<std::int32_t> items;
    std::vector<float> values;
};

class user_ratings {
  public:
    struct options {
        std::uint64_t users = 0;
        std::uint64_t items = 0;
        tile_plan tiles;
        bool keeps_rated = false; // for rankings
    };
    explicit user_ratings(options o);

    result<void> take(const scheduled::payload& piece);
    result<void> complete();

    // ---- when all has arrived ----
    const rating_table& learned() const noexcept { return learned_; }
    rating_table& learned() noexcept { return learned_; }
    const rating_table& held_out() const noexcept { return held_out_; }
    const rating_rows& held_out_rows() const noexcept { return held_out_rows_; }
    // Ratings of each user that are learned from.
    const std::vector<std::uint32_t>& counts() const noexcept { return counts_; }
    // Moments of the ratings that are learned from.
    const rating_moments& moments() const noexcept { return moments_; }

    // Saves what the result needs beside the factors (result_files.hpp): the number of users, held-out ratings and, for
    // rankings, which items each user has rated.
    result<void> save(memory_pool& memory, scheduled::saved_part& to) const;

    // Whether that is what save() writes.
    result<void> check_saved(const scheduled::saved_part& saved) const;

  private:
    result<void> check_row(std::span<const std::int32_t> items,
                           std::span<const float> values) const;

    options options_;
    rating_table learned_, held_out_;
    rating_rows held_out_rows_, rated_; // rated_: without values
    std::vector<std::uint32_t> counts_;
    rating_moments moments_;
};

} // namespace troupe::factorization
