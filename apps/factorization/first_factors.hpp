// The factors that users and items begin with. They depend on seed, kind and number alone, up to a scale.
//
// Threads: pure functions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "apps/factorization/rating_level.hpp"
#include "schemas/base/random.hpp"

namespace troupe::factorization {

enum class factor_kind : std::uint8_t { user, item };

// Uniform numbers. With biases around 0, so that products are small beside the ratings' spread; without them from 0 on, so
// that products are 1 on average.
inline void draw_factors(std::span<float> to, std::uint64_t seed, factor_kind kind,
                         std::uint64_t number, bool has_biases) {
    random_stream random{seed, 2 * number + (kind == factor_kind::user ? 1 : 0)};
    const double each = 1 / std::sqrt(static_cast<double>(to.size()));
    for (float& factor : to) {
        const double u = random.uniform();
        factor = static_cast<float>(each * (has_biases ? 0.5 * (2 * u - 1) : 2 * u));
    }
}

// The factor of these numbers, for items; for users also with the sign of the ratings' mean.
inline float first_scale(const rating_moments& m, bool has_biases) {
    const rating_level level = level_of(m, has_biases);
    const double product =
        has_biases ? level.spread : std::max(std::abs(m.mean), 0.1 * level.spread);
    return static_cast<float>(std::sqrt(product));
}
inline float first_user_scale(const rating_moments& m, bool has_biases) {
    return !has_biases && m.mean < 0 ? -first_scale(m, has_biases) : first_scale(m, has_biases);
}

} // namespace troupe::factorization
