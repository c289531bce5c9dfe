// How an ant chooses among weights: by exact proportions, or by the independent roulette of Cecilia et al., argmax of weight
// times a random number, which is cheap on lanes and favours large weights.
//
// Threads: functions without state beyond the stream. Weights are 0 or above; without any above 0 the answer is the count.
// Source: Cecilia et al., Enhancing data parallelism for ant colony optimization on GPUs (2013).
#pragma once

#include <cstddef>
#include <span>

#include "schemas/base/random.hpp"

namespace troupe::tsp {

enum class choice_kind : std::uint8_t { exact, independent };

inline std::size_t choose_exactly(std::span<const double> weights, random_stream& random) {
    double sum = 0;
    for (const double w : weights)
        sum += w;
    if (!(sum > 0))
        return weights.size();
    double left = random.uniform() * sum;
    std::size_t last = weights.size();
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (weights[i] <= 0)
            continue;
        last = i;
        if (left < weights[i])
            return i;
        left -= weights[i];
    }
    return last; // rounding has left a little
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

inline std::size_t choose(choice_kind kind, std::span<const double> weights,
                          random_stream& random) {
    return kind == choice_kind::exact ? choose_exactly(weights, random)
                                      : choose_independently(weights, random);
}

} // namespace troupe::tsp
