// Random words by place (schemas/base/philox.hpp), many at a time, for the loops that are compiled once per instruction set.
// Static, so that none calls another's; see loops.cpp.
#pragma once

#include <cstddef>

#include "schemas/base/philox.hpp"

namespace troupe::cpu {

constexpr std::size_t random_block = 128; // words

// The random_block words of the counters from `counter` on, with `upper` as their upper half.
static inline void random_words(std::uint64_t counter, const std::uint32_t upper[2], philox_key key,
                                std::uint32_t* words) {
    const std::uint32_t third = upper[0], fourth = upper[1];
    for (std::size_t c = 0; c < random_block / 4; ++c) {
        const std::uint64_t low = counter + c;
        const philox_words at = philox({{static_cast<std::uint32_t>(low),
                                         static_cast<std::uint32_t>(low >> 32), third, fourth}},
                                       key);
        for (std::size_t w = 0; w < 4; ++w)
            words[4 * c + w] = at.word[w];
    }
}

} // namespace troupe::cpu
