// The element of some rank among magnitudes, without sorting them.
#pragma once

#include "kernels/cuda/execution.hpp"

namespace troupe::cuda {

// The bits of a magnitude, in whose order that of NaN is above all others.
__device__ inline std::uint32_t magnitude_of(float x) {
    return __float_as_uint(x) & 0x7fffffff;
}

// values[0], values[stride], values[2 * stride], ...
struct strided {
    const float* values;
    std::size_t stride;
    std::size_t count;
};

// The rank-th largest magnitude, counted from 1, and how many of it are among the first `rank` of a descending order.
struct selection {
    std::uint32_t magnitude;
    unsigned long long ties;
};

// Puts into the stream what finds it: three times the digits of some bits are counted, from the highest bits on, and the
// digit of that rank is kept. `rank` is 1 .. of.count.
result<void> select_magnitude(const strided& of, std::size_t rank, selection* to, execution& run);

} // namespace troupe::cuda
