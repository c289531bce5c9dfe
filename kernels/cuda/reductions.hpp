// Sums and extremes over the threads of a warp or a block, in an order that depends on the number of threads only.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace troupe::cuda {

inline constexpr unsigned warp_threads = 32;
inline constexpr unsigned warps_max = 32; // of a block

struct plus {
    template <class T>
    __device__ T operator()(T a, T b) const {
        return a + b;
    }
};
// NaN is above all numbers.
struct larger {
    template <class T>
    __device__ T operator()(T a, T b) const {
        return a != a || a > b ? a : b;
    }
};

// The value of the lane whose number differs in the bits of `mask`. T is a number, or a struct of whole words.
template <class T>
__device__ inline T across_warp(T value, unsigned mask) {
    if constexpr (std::is_arithmetic_v<T>)
        return __shfl_xor_sync(0xffffffffu, value, static_cast<int>(mask));
    else {
        std::uint32_t words[sizeof(T) / 4];
        static_assert(sizeof words == sizeof value);
        memcpy(words, &value, sizeof value);
        for (std::uint32_t& word : words)
            word = __shfl_xor_sync(0xffffffffu, word, static_cast<int>(mask));
        memcpy(&value, words, sizeof value);
        return value;
    }
}

// Combines the values of all lanes of a full warp; the result is in every lane.
template <class T, class Combine = plus>
__device__ inline T over_warp(T value, Combine combine = {}) {
    for (unsigned mask = warp_threads / 2; mask > 0; mask /= 2)
        value = combine(value, across_warp(value, mask));
    return value;
}

// Combines the values of all threads of a block of whole warps; the result is in every thread. All of them must
// call it. `none` changes nothing.
template <class T, class Combine = plus>
__device__ inline T over_block(T value, T none = T{}, Combine combine = {}) {
    __shared__ T of_warps[warps_max];
    const unsigned lane = threadIdx.x % warp_threads;
    const unsigned warp = threadIdx.x / warp_threads;
    value = over_warp(value, combine);
    __syncthreads(); // whoever still reads what an earlier call left
    if (lane == 0)
        of_warps[warp] = value;
    __syncthreads();
    value = lane < blockDim.x / warp_threads ? of_warps[lane] : none;
    return over_warp(value, combine);
}

} // namespace troupe::cuda
