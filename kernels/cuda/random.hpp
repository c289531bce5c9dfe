// Random words by place (schemas/base/philox.hpp).
#pragma once

#include <cuda_runtime.h>

#include "schemas/base/philox.hpp"

namespace troupe::cuda {

// The four words at a counter of 128 bits.
__device__ inline philox_words random_words(std::uint64_t lower, std::uint64_t upper,
                                            std::uint64_t key) {
    const auto word = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    return philox({{word(lower), word(lower >> 32), word(upper), word(upper >> 32)}},
                  {{word(key), word(key >> 32)}});
}

} // namespace troupe::cuda
