// The draws of ants, as construct_tours defines them (kernels/ops/tours.hpp): one weight of several.
//
// Threads: functions without state beyond the stream. Weights are 0 or above; without a sum above 0 the answer is their
// count.
// Source: Cecilia et al., Enhancing data parallelism for ant colony optimization on GPUs (2013).
#pragma once

#include <cstddef>
#include <span>

#include "kernels/ops/tours.hpp"
#include "schemas/base/random.hpp"

namespace troupe {

// The first weight with which the sum of those so far is above U times the sum of all.
inline std::size_t choose_exactly(std::span<const double> weights, random_stream& random) {
    double sum = 0;
    for (const double w : weights)
        sum += w;
    if (!(sum > 0))
        return weights.size();
    const double limit = random.uniform() * sum;
    std::size_t last = weights.size();
    double so_far = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        so_far += weights[i];
        if (so_far > limit)
            return i;
        if (weights[i] > 0)
            last = i;
    }
    return last; // the product was rounded up to the sum
}

inline std::size_t choose_independently(std::span<const double> weights, random_stream& random) {
    std::size_t best = weights.size();
    double highest = 0;
    for (std::size_t i = 0; i < weights.size(); ++i)
        // 1 - U is above 0, so that a weight above 0 is never lost.
        if (const double drawn = weights[i] * (1 - random.uniform()); drawn > highest) {
            highest = drawn;
            best = i;
        }
    return best;
}

inline std::size_t choose(city_choice how, std::span<const double> weights, random_stream& random) {
    return how == city_choice::exact ? choose_exactly(weights, random)
                                     : choose_independently(weights, random);
}

} // namespace troupe
