// The items' factors before the first sweep, as schedulers and workers make them.
//
// Threads: a pure function.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "apps/factorization/coordinate_order.hpp"
#include "apps/factorization/first_factors.hpp"

namespace troupe::factorization {

// Writes the rows of a range of items; ones for the users' biases. The moments of all ratings give the scale.
inline void draw_items(std::span<float> rows, const coordinate_rows& form, std::uint64_t seed,
                       const scheduled::number_range& items, const rating_moments& moments) {
    std::ranges::fill(rows, 0.0F);
    if (form.has_biases)
        std::ranges::fill(rows.subspan(form.user_biases() * items.count, items.count), 1.0F);
    const float scale = first_scale(moments, form.has_biases);
    std::vector<float> own(form.rank);
    for (std::uint64_t i = 0; i < items.count; ++i) {
        draw_factors(own, seed, factor_kind::item, items.first + i, form.has_biases);
        for (std::size_t row = 0; row < form.rank; ++row)
            rows[row * items.count + i] = scale * own[row];
    }
}

} // namespace troupe::factorization
