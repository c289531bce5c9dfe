// The level of ratings and their spread: of some of them, and of all from their parts.
//
// Threads: values.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace troupe::factorization {

// Number, mean and sum of squared distances from the mean; parts combine as Chan, Golub and LeVeque do (1979).
struct rating_moments {
    double count = 0;
    double mean = 0;
    double squares = 0;

    void add(const rating_moments& other) {
        if (other.count == 0)
            return;
        const double all = count + other.count, apart = other.mean - mean;
        squares += other.squares + apart * apart * count * other.count / all;
        mean += apart * other.count / all;
        count = all;
    }
};

inline rating_moments moments_of(std::span<const float> ratings) {
    rating_moments m;
    for (const float r : ratings)
        m.mean += static_cast<double>(r);
    m.count = static_cast<double>(ratings.size());
    m.mean = m.count > 0 ? m.mean / m.count : 0;
    for (const float r : ratings)
        m.squares += (static_cast<double>(r) - m.mean) * (static_cast<double>(r) - m.mean);
    return m;
}

struct rating_level {
    double mean = 0;   // that predictions are around; 0 without biases
    double spread = 1; // root mean square of the ratings around it; 1 if that is 0

    friend bool operator==(const rating_level&, const rating_level&) = default;
};

inline rating_level level_of(const rating_moments& m, bool has_biases) {
    rating_level level;
    if (m.count == 0)
        return level;
    level.mean = has_biases ? m.mean : 0;
    const double apart = m.mean - level.mean;
    const double spread = std::sqrt(m.squares / m.count + apart * apart);
    // Equal ratings leave nothing but rounding.
    if (spread > 1e-6 * std::abs(m.mean))
        level.spread = spread;
    return level;
}

} // namespace troupe::factorization
