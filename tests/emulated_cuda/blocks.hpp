// The threads of a block of an emulated GPU: they take turns on one thread of the host.
//
// A thread runs until it waits at a barrier or ends; then the next one runs. Those that never wait are run one behind the
// other without any switch, so that kernels without barriers cost no more than a loop. Where some threads of a block wait at
// a barrier of the block while all others have ended, the barrier opens, as on a GPU; where they wait at different ones
// for ever, the program ends with a sentence.
//
// Threads: each thread of the host runs blocks of its own. Everything here but run_grid is for the inside of kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

namespace emulated {

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x{x}, y{y}, z{z} {}
};
struct index3 {
    unsigned x = 0, y = 0, z = 0;
};

extern thread_local index3 threadIdx, blockIdx;
extern thread_local dim3 blockDim, gridDim;

inline constexpr unsigned block_threads_max = 1024;
inline constexpr std::size_t shared_bytes_max = 227u << 10; // of a block on sm_90

// Calls `thread` for every thread of every block.
void run_grid(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& thread);

void block_barrier();
void warp_barrier();
int lane();
void* dynamic_shared(); // as many bytes as the launch asked for, full of NaN

// What `value` is in another lane of the warp.
std::uint64_t exchange_bits(std::uint64_t bits, int from);
// The lanes of the warp that show what is wanted, each showing one number; as bits.
unsigned lanes_that_show(std::uint64_t wanted, std::uint64_t mine);

// What every lane of a whole warp shows, lane after lane; each shows as many as the others, at most these. Stays until the
// warp's next exchange but one.
inline constexpr unsigned lane_floats_max = 32;
const float* shown_by_warp(const float* mine, unsigned count);

template <class T>
std::uint64_t bits_of(T value) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}

template <class T>
T exchange(T value, int from) {
    const std::uint64_t bits = exchange_bits(bits_of(value), from);
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

} // namespace emulated
