#include <algorithm>
#include <bit>

#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/payloads.hpp"
#include "kernels/cuda/reductions.hpp"
#include "kernels/cuda/rows.hpp"
#include "kernels/cuda/selection.hpp"
#include "kernels/ops/payload.hpp"

namespace troupe {

namespace {

// ---- helpers ----------------------------------------------------------------------------------------------------------

// Elements of at least a magnitude, or, with `top`, those above its magnitude and the first ones of it.
struct chosen_elements {
    std::uint32_t least;
    const cuda::selection* top = nullptr;

    struct bounds {
        std::uint32_t least, tie;
        unsigned ties;
    };
    __device__ bounds read() const {
        constexpr std::uint32_t no_magnitude = ~0u;
        if (top == nullptr)
            return {least, no_magnitude, 0};
        return {top->magnitude + 1, top->magnitude, static_cast<unsigned>(top->ties)};
    }
};

// How many elements are chosen for sure, and how many of the magnitude of ties: fewer than 2^32 of all.
struct found {
    unsigned sure, ties;

    __device__ unsigned taken(unsigned ties_max) const {
        return sure + (ties < ties_max ? ties : ties_max);
    }
};
__device__ found operator+(found a, found b) {
    return {a.sure + b.sure, a.ties + b.ties};
}

// A warp takes a chunk of neighbouring elements.
struct chunk_sizes {
    std::size_t elements, chunk, chunks;

    explicit chunk_sizes(std::size_t elements) : elements{elements} {
        constexpr std::size_t chunk_least = 1024, chunks_max = 1u << 15;
        const std::size_t each = (elements + chunks_max - 1) / chunks_max;
        chunk = std::max(chunk_least,
                         (each + cuda::warp_threads - 1) / cuda::warp_threads * cuda::warp_threads);
        chunks = (elements + chunk - 1) / chunk;
    }
};

// The count that the payload must take, told of those that are chosen.
struct expected_count {
    std::size_t count;
    bool is_exact;              // no more either
    cuda::bad_element_slot bad; // or null: it is so
};

// ---- kernels ----------------------------------------------------------------------------------------------------------

__global__ void count_chunks_kernel(const float* input, chunk_sizes sizes, chosen_elements chosen,
                                    found* counts) {
    const auto bounds = chosen.read();
    for (std::size_t c = cuda::warp_of_row::first_row(); c < sizes.chunks;
         c += cuda::warp_of_row::row_step()) {
        const std::size_t first = c * sizes.chunk;
        const std::size_t end = std::min(first + sizes.chunk, sizes.elements);
        found here{0, 0};
#pragma unroll 4
        for (std::size_t i = first + cuda::warp_of_row::index(); i < end; i += cuda::warp_threads) {
            const std::uint32_t magnitude = cuda::magnitude_of(input[i]);
            here.sure += magnitude >= bounds.least ? 1 : 0;
            here.ties += magnitude == bounds.tie ? 1 : 0;
        }
        here = cuda::over_warp(here);
        if (cuda::warp_of_row::index() == 0)
            counts[c] = here;
    }
}

// In place: what is found before each chunk. One block, each thread of which has a run of neighbouring chunks.
__global__ void sum_chunks_kernel(found* counts, std::size_t chunks, chosen_elements chosen,
                                  expected_count expected) {
    __shared__ unsigned sure[cuda::block_threads], ties[cuda::block_threads];
    const std::size_t run = (chunks + blockDim.x - 1) / blockDim.x;
    const std::size_t first = std::min(threadIdx.x * run, chunks),
                      end = std::min(first + run, chunks);
    found own{0, 0};
    for (std::size_t c = first; c < end; ++c)
        own = own + counts[c];
    found up_to = own; // with all threads before
    for (unsigned distance = 1; distance < blockDim.x; distance *= 2) {
        sure[threadIdx.x] = up_to.sure;
        ties[threadIdx.x] = up_to.ties;
        __syncthreads();
        if (threadIdx.x >= distance)
            up_to = up_to + found{sure[threadIdx.x - distance], ties[threadIdx.x - distance]};
        __syncthreads();
    }
    found before{up_to.sure - own.sure, up_to.ties - own.ties};
    for (std::size_t c = first; c < end; ++c) {
        const found here = counts[c];
        counts[c] = before;
        before = before + here;
    }
    if (threadIdx.x + 1 < blockDim.x || expected.bad == nullptr)
        return;
    const std::size_t all = up_to.taken(chosen.read().ties);
    if (all < expected.count || (expected.is_exact && all > expected.count))
        cuda::report_bad(expected.bad, all, 0);
}

// Calls write(place, index, element) for those that are chosen, in their order, of places below `places`.
template <class Write>
__global__ void write_chunks_kernel(const float* input, chunk_sizes sizes, chosen_elements chosen,
                                    const found* before_chunks, std::size_t places, Write write) {
    const auto bounds = chosen.read();
    const unsigned lane = cuda::warp_of_row::index(), lanes_before = (1u << lane) - 1;
    for (std::size_t c = cuda::warp_of_row::first_row(); c < sizes.chunks;
         c += cuda::warp_of_row::row_step()) {
        const std::size_t first = c * sizes.chunk;
        const std::size_t end = std::min(first + sizes.chunk, sizes.elements);
        found before = before_chunks[c];
        for (std::size_t start = first; start < end && before.taken(bounds.ties) < places;
             start += cuda::warp_threads) {
            const std::size_t i = start + lane;
            const float x = i < end ? input[i] : 0;
            const std::uint32_t magnitude = cuda::magnitude_of(x);
            const bool is_sure = i < end && magnitude >= bounds.least;
            const bool is_tie = i < end && magnitude == bounds.tie;
            const unsigned sure = __ballot_sync(0xffffffffu, is_sure);
            const unsigned ties = __ballot_sync(0xffffffffu, is_tie);
            const found mine = before + found{static_cast<unsigned>(__popc(sure & lanes_before)),
                                              static_cast<unsigned>(__popc(ties & lanes_before))};
            const std::size_t place = mine.taken(bounds.ties);
            if ((is_sure || (is_tie && mine.ties < bounds.ties)) && place < places)
                write(place, i, x);
            before = before + found{static_cast<unsigned>(__popc(sure)),
                                    static_cast<unsigned>(__popc(ties))};
        }
    }
}

struct sparse_writer {
    std::byte* payload;
    std::size_t count;
    __device__ void operator()(std::size_t place, std::size_t index, float x) const {
        cuda::write_at(payload + 4 * place, static_cast<std::uint32_t>(index));
        cuda::write_at(payload + 4 * (count + place), x);
    }
};

struct threshold_writer {
    std::byte* payload;
    __device__ void operator()(std::size_t place, std::size_t index, float x) const {
        cuda::write_at(payload + 4 * place,
                       static_cast<std::uint32_t>(index) | (__float_as_uint(x) & 0x80000000));
    }
};

// ---- launchers --------------------------------------------------------------------------------------------------------

template <class Write>
result<void> write_chosen(const tensor& input, const chosen_elements& chosen,
                          const expected_count& expected, const Write& write,
                          cuda::execution& run) {
    const chunk_sizes sizes{input.elements()};
    auto scratch = run.scratch(std::max<std::size_t>(1, sizes.chunks) * sizeof(found));
    if (!scratch)
        return scratch.failure();
    auto* const counts = reinterpret_cast<found*>((*scratch)->data());
    const float* const x = cuda::floats(input);
    const unsigned blocks = cuda::blocks_for(sizes.chunks, cuda::warps_of_block);
    if (auto done = cuda::checked(
            cuda::launch(run.stream(), {blocks}, count_chunks_kernel, x, sizes, chosen, counts),
            {&input});
        !done)
        return done;
    if (auto done = cuda::checked(cuda::launch(run.stream(), {1}, sum_chunks_kernel, counts,
                                               sizes.chunks, chosen, expected),
                                  {&input});
        !done)
        return done;
    return cuda::checked(cuda::launch(run.stream(), {blocks}, write_chunks_kernel<Write>, x, sizes,
                                      chosen, counts, expected.count, write),
                         {&input});
}

std::uint32_t magnitude_bits(float x) {
    return std::bit_cast<std::uint32_t>(x) & 0x7fffffff;
}

} // namespace

result<void> cuda_operations::start(const encode_top& op) {
    const std::size_t count = op.payload.bytes() / sparse_element_bytes;
    if (count == 0)
        return {};
    auto scratch = run_.scratch(sizeof(cuda::selection));
    if (!scratch)
        return scratch.failure();
    auto* const last = reinterpret_cast<cuda::selection*>((*scratch)->data());
    if (auto done = cuda::select_magnitude({cuda::floats(op.input), 1, op.input.elements()}, count,
                                           last, run_);
        !done)
        return done;
    return write_chosen(op.input, {0, last}, {count, true, nullptr},
                        sparse_writer{op.payload.mutable_data(), count}, run_);
}

result<void> cuda_operations::start(const encode_at_least& op) {
    const std::size_t count = op.payload.bytes() / sparse_element_bytes;
    auto bad = run_.look_out([](std::size_t all, std::int32_t) { return too_few_large(all); });
    if (!bad)
        return bad.failure();
    return write_chosen(op.input, {magnitude_bits(op.magnitude)}, {count, false, *bad},
                        sparse_writer{op.payload.mutable_data(), count}, run_);
}

result<void> cuda_operations::start(const encode_threshold& op) {
    auto bad = run_.look_out([](std::size_t all, std::int32_t) { return wrong_count_above(all); });
    if (!bad)
        return bad.failure();
    return write_chosen(op.input, {magnitude_bits(just_above(op.threshold))},
                        {op.payload.bytes() / threshold_element_bytes, true, *bad},
                        threshold_writer{op.payload.mutable_data()}, run_);
}

} // namespace troupe
