#include "kernels/cuda/selection.hpp"

#include "kernels/cuda/elements.hpp"
#include "kernels/cuda/reductions.hpp"

namespace troupe::cuda {

namespace {

constexpr unsigned digits_max = 1u << 11;

// The bits of a magnitude that are looked at together.
struct digit_place {
    unsigned shift, bits;
};
constexpr digit_place places[] = {{20, 11}, {10, 10}, {0, 10}};

// How often each digit occurs in what begins with the bits that are known.
__global__ void count_digits_kernel(strided of, digit_place place, const selection* known,
                                    unsigned long long* counts) {
    __shared__ unsigned here[digits_max];
    const unsigned digits = 1u << place.bits;
    for (unsigned d = threadIdx.x; d < digits; d += blockDim.x)
        here[d] = 0;
    __syncthreads();
    const std::uint32_t begin = known->magnitude >> (place.shift + place.bits);
#pragma unroll 4
    for (std::size_t i = first_element(); i < of.count; i += element_step()) {
        const std::uint32_t upper = magnitude_of(of.values[i * of.stride]) >> place.shift;
        if (upper >> place.bits == begin)
            atomicAdd(&here[upper & (digits - 1)], 1u);
    }
    __syncthreads();
    for (unsigned d = threadIdx.x; d < digits; d += blockDim.x)
        if (here[d] != 0)
            atomicAdd(&counts[d], static_cast<unsigned long long>(here[d]));
}

// One warp, each lane of which has its share of the digits, the largest first.
__global__ void choose_digit_kernel(digit_place place, const unsigned long long* counts,
                                    selection* known) {
    const unsigned share = (1u << place.bits) / warp_threads;
    const unsigned first = (warp_threads - 1 - threadIdx.x) * share; // of the lane's digits
    unsigned long long own = 0;
    for (unsigned d = 0; d < share; ++d)
        own += counts[first + d];
    unsigned long long up_to = own; // here and in the lanes of larger digits
    for (unsigned distance = 1; distance < warp_threads; distance *= 2) {
        const auto before = __shfl_up_sync(0xffffffffu, up_to, distance);
        up_to += threadIdx.x >= distance ? before : 0;
    }
    const unsigned long long rank = known->ties;
    __syncwarp();
    unsigned long long larger = up_to - own;
    if (rank <= larger || rank > up_to)
        return;
    unsigned digit = first + share - 1;
    for (; larger + counts[digit] < rank; --digit)
        larger += counts[digit];
    known->magnitude |= digit << place.shift;
    known->ties = rank - larger;
}

__global__ void begin_kernel(std::size_t rank, selection* known) {
    *known = {.magnitude = 0, .ties = rank};
}

} // namespace

result<void> select_magnitude(const strided& of, std::size_t rank, selection* to, execution& run) {
    constexpr std::size_t elements_of_thread = 16, blocks_wanted = 1024;
    const unsigned blocks = static_cast<unsigned>(std::min<std::size_t>(
        blocks_for(of.count, block_threads * elements_of_thread), blocks_wanted));
    constexpr std::size_t bytes = digits_max * sizeof(unsigned long long);
    auto scratch = run.scratch(bytes);
    if (!scratch)
        return scratch.failure();
    auto* const counts = reinterpret_cast<unsigned long long*>((*scratch)->data());
    if (auto done = checked(launch(run.stream(), {1, 1}, begin_kernel, rank, to)); !done)
        return done;
    for (const digit_place& place : places) {
        if (auto done = checked(cudaMemsetAsync(counts, 0, bytes, run.stream())); !done)
            return done;
        if (auto done =
                checked(launch(run.stream(), {blocks}, count_digits_kernel, of, place, to, counts));
            !done)
            return done;
        if (auto done = checked(
                launch(run.stream(), {1, warp_threads}, choose_digit_kernel, place, counts, to));
            !done)
            return done;
    }
    return {};
}

} // namespace troupe::cuda
