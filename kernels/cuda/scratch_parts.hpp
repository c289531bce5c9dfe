// Scratch memory for several arrays of floats at once.
#pragma once

#include <cstddef>
#include <utility>

#include "kernels/cuda/execution.hpp"

namespace troupe::cuda {

template <std::size_t N>
struct scratch_parts {
    buffer_ref memory;
    float* at[N];
};

// One for each count, aligned for products. They go with `memory`.
template <std::size_t N>
result<scratch_parts<N>> make_scratch(execution& run, const std::size_t (&counts)[N]) {
    constexpr std::size_t aligned = 64; // floats
    std::size_t offsets[N], all = 0;
    for (std::size_t i = 0; i < N; ++i) {
        offsets[i] = all;
        all += (counts[i] + aligned - 1) / aligned * aligned;
    }
    auto made = run.scratch(all * sizeof(float));
    if (!made)
        return made.failure();
    scratch_parts<N> parts{std::move(*made), {}};
    for (std::size_t i = 0; i < N; ++i)
        parts.at[i] = reinterpret_cast<float*>(parts.memory->data()) + offsets[i];
    return parts;
}

} // namespace troupe::cuda
