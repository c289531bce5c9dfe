// Rows of a table. For the gradient, the places of the indices are sorted by their index, so that a warp finds what it adds
// up beside one another and in order.
#include <algorithm>

#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/rows.hpp"

namespace troupe {

namespace {

// ---- helpers ----------------------------------------------------------------------------------------------------------

constexpr unsigned columns_of_lane = 4;
constexpr unsigned columns_of_warp = columns_of_lane * cuda::warp_threads;
constexpr std::size_t grid_y_max = 65535;

// The sort takes the digits of the indices from the lowest on. A warp counts the digits of a tile of places, and puts them
// behind those of the tiles before it.
constexpr unsigned digit_bits = 8;
constexpr unsigned digits = 1u << digit_bits;
constexpr std::size_t tile_places = 1024;

struct index_list {
    const std::int32_t* values;
    std::size_t count;
    std::size_t vocabulary;

    __device__ bool is_good(std::size_t place) const {
        return values[place] >= 0 && static_cast<std::size_t>(values[place]) < vocabulary;
    }
    // The row that a place belongs to; bad indices are sorted to the first.
    __device__ std::uint32_t row(std::size_t place) const {
        return is_good(place) ? static_cast<std::uint32_t>(values[place]) : 0;
    }
};

// Places in the order of the digits that are done; without any, in their own.
struct place_list {
    const std::size_t* places; // or null
    __device__ std::size_t at(std::size_t i) const { return places == nullptr ? i : places[i]; }
};

__device__ unsigned digit_of(std::uint32_t row, unsigned shift) {
    return row >> shift & (digits - 1);
}

__device__ unsigned lane() {
    return threadIdx.x % cuda::warp_threads;
}

// Sorted places from `first` on that are of a row, one in each of the first lanes.
struct row_places {
    std::size_t place;
    unsigned count = cuda::warp_threads;
    unsigned good; // lanes whose index is, as bits

    row_places() = default;
    __device__ row_places(const index_list& indices, const std::size_t* sorted, std::size_t first,
                          std::uint32_t row, cuda::bad_element_slot bad) {
        const bool is_there = first + lane() < indices.count;
        place = is_there ? sorted[first + lane()] : 0;
        const bool is_mine = is_there && indices.row(place) == row;
        const bool is_good = is_mine && indices.is_good(place);
        if (is_mine && !is_good)
            cuda::report_bad(bad, place, indices.values[place]);
        count = __popc(__ballot_sync(0xffffffffu, is_mine));
        good = __ballot_sync(0xffffffffu, is_good);
    }
};

// ---- kernels ----------------------------------------------------------------------------------------------------------

// Blocks beside one another take places, those above one another columns.
__global__ void embedding_kernel(const float* table, index_list indices, std::size_t width,
                                 float* output, cuda::bad_element_slot bad) {
    using threads = cuda::warp_of_row;
    const std::size_t first = std::size_t{blockIdx.y} * cuda::warp_threads + lane();
    const std::size_t step = std::size_t{gridDim.y} * cuda::warp_threads;
    for (std::size_t i = threads::first_row(); i < indices.count; i += threads::row_step()) {
        if (!indices.is_good(i)) {
            if (first == 0)
                cuda::report_bad(bad, i, indices.values[i]);
            continue;
        }
        const float* row = table + indices.row(i) * width;
        float* to = output + i * width;
#pragma unroll 4
        for (std::size_t c = first; c < width; c += step)
            to[c] = row[c];
    }
}

// counts[d * gridDim.x + t] = the places of tile t whose digit is d.
__global__ void count_digits_kernel(index_list indices, place_list from, unsigned shift,
                                    unsigned* counts) {
    __shared__ unsigned of_tile[digits];
    for (unsigned d = lane(); d < digits; d += cuda::warp_threads)
        of_tile[d] = 0;
    __syncwarp();
    const std::size_t first = blockIdx.x * tile_places;
    const std::size_t end =
        first + tile_places < indices.count ? first + tile_places : indices.count;
    for (std::size_t i = first + lane(); i < end; i += cuda::warp_threads)
        atomicAdd(&of_tile[digit_of(indices.row(from.at(i)), shift)], 1u);
    __syncwarp();
    for (unsigned d = lane(); d < digits; d += cuda::warp_threads)
        counts[std::size_t{d} * gridDim.x + blockIdx.x] = of_tile[d];
}

// starts[i] = the sum of the counts before i. Block d, a warp, does those of digit d.
__global__ void start_of_digits_kernel(const unsigned* counts, std::size_t tiles,
                                       std::size_t* starts) {
    const std::size_t first = blockIdx.x * tiles;
    std::size_t before = 0;
    for (std::size_t i = lane(); i < first; i += cuda::warp_threads)
        before += counts[i];
    before = cuda::over_warp(before);
    for (std::size_t t = 0; t < tiles; t += cuda::warp_threads) {
        const std::size_t i = first + t + lane();
        const std::size_t mine = t + lane() < tiles ? counts[i] : 0;
        std::size_t up_to = mine;
        for (unsigned step = 1; step < cuda::warp_threads; step *= 2) {
            const std::size_t below = __shfl_up_sync(0xffffffffu, up_to, step);
            up_to += lane() >= step ? below : 0;
        }
        if (t + lane() < tiles)
            starts[i] = before + up_to - mine;
        before += __shfl_sync(0xffffffffu, up_to, cuda::warp_threads - 1);
    }
}

// Places with the same digit stay in their order.
__global__ void sort_by_digit_kernel(index_list indices, place_list from, unsigned shift,
                                     const std::size_t* starts, std::size_t* to) {
    __shared__ std::size_t next[digits];
    for (unsigned d = lane(); d < digits; d += cuda::warp_threads)
        next[d] = starts[std::size_t{d} * gridDim.x + blockIdx.x];
    __syncwarp();
    const std::size_t first = blockIdx.x * tile_places;
    const std::size_t end =
        first + tile_places < indices.count ? first + tile_places : indices.count;
    for (std::size_t group = first; group < end; group += cuda::warp_threads) {
        const bool is_mine = group + lane() < end;
        const std::size_t place = is_mine ? from.at(group + lane()) : 0;
        const unsigned digit = is_mine ? digit_of(indices.row(place), shift) : digits;
        const unsigned same = __match_any_sync(0xffffffffu, digit);
        const unsigned before = __popc(same & ((1u << lane()) - 1));
        if (is_mine)
            to[next[digit] + before] = place;
        __syncwarp();
        if (is_mine && before == 0)
            next[digit] += __popc(same);
        __syncwarp();
    }
}

// The first of the places of a row adds up all of them. Blocks beside one another take places, those above one another
// columns.
__global__ void table_gradient_kernel(index_list indices, const std::size_t* sorted,
                                      const float* output_gradient, std::size_t width,
                                      float* table_gradient, cuda::bad_element_slot bad) {
    using threads = cuda::warp_of_row;
    for (std::size_t i = threads::first_row(); i < indices.count; i += threads::row_step()) {
        const std::uint32_t row = indices.row(sorted[i]);
        if (i > 0 && indices.row(sorted[i - 1]) == row)
            continue;
        for (std::size_t first = std::size_t{blockIdx.y} * columns_of_warp + lane();
             first - lane() < width; first += std::size_t{gridDim.y} * columns_of_warp) {
            float sums[columns_of_lane] = {};
            row_places some;
            for (std::size_t at = i; some.count == cuda::warp_threads; at += cuda::warp_threads) {
                some = row_places{indices, sorted, at, row, bad};
#pragma unroll 4
                for (unsigned l = 0; l < some.count; ++l) {
                    const float* from =
                        output_gradient + __shfl_sync(0xffffffffu, some.place, l) * width;
#pragma unroll
                    for (unsigned k = 0; k < columns_of_lane; ++k) {
                        const std::size_t c = first + k * cuda::warp_threads;
                        if ((some.good >> l & 1) != 0 && c < width)
                            sums[k] += from[c];
                    }
                }
            }
#pragma unroll
            for (unsigned k = 0; k < columns_of_lane; ++k)
                if (const std::size_t c = first + k * cuda::warp_threads;
                    c < width && row < indices.vocabulary) // which may be 0
                    table_gradient[row * width + c] = sums[k];
        }
    }
}

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

namespace {

index_list list_of(const tensor& indices, const tensor& table) {
    return {cuda::integers(indices), indices.elements(), table.shape()[0]};
}

dim3 grid_of(const index_list& indices, std::size_t width) {
    return {cuda::blocks_for(indices.count, cuda::warps_of_block),
            static_cast<unsigned>(
                std::min((width + columns_of_warp - 1) / columns_of_warp, grid_y_max))};
}

result<cuda::bad_element_slot> look_out(cuda::execution& run, const tensor& indices,
                                        const tensor& table) {
    return run.look_out([shape = indices.shape(), vocabulary = table.shape()[0]](
                            auto i, auto index) { return bad_index(shape, i, index, vocabulary); });
}

// The places of the indices, sorted by them.
result<buffer_ref> sort_places(const index_list& indices, cuda::execution& run) {
    const std::size_t tiles = (indices.count + tile_places - 1) / tile_places;
    auto counts = run.scratch(digits * tiles * sizeof(unsigned));
    if (!counts)
        return counts.failure();
    auto starts = run.scratch(digits * tiles * sizeof(std::size_t));
    if (!starts)
        return starts.failure();
    auto* const counted = reinterpret_cast<unsigned*>((*counts)->data());
    auto* const started = reinterpret_cast<std::size_t*>((*starts)->data());
    const std::size_t last_row =
        std::clamp<std::size_t>(indices.vocabulary, 1, std::size_t{1} << 31) - 1;
    const cuda::launch_shape of_tiles{static_cast<unsigned>(tiles), cuda::warp_threads};
    buffer_ref sorted;
    unsigned shift = 0;
    do {
        auto made = run.scratch(indices.count * sizeof(std::size_t));
        if (!made)
            return made.failure();
        const place_list from{sorted ? reinterpret_cast<const std::size_t*>(sorted->data())
                                     : nullptr};
        if (auto done = cuda::checked(cuda::launch(run.stream(), of_tiles, count_digits_kernel,
                                                   indices, from, shift, counted));
            !done)
            return done.failure();
        if (auto done =
                cuda::checked(cuda::launch(run.stream(), {digits, cuda::warp_threads},
                                           start_of_digits_kernel, counted, tiles, started));
            !done)
            return done.failure();
        if (auto done = cuda::checked(
                cuda::launch(run.stream(), of_tiles, sort_by_digit_kernel, indices, from, shift,
                             started, reinterpret_cast<std::size_t*>((*made)->data())));
            !done)
            return done.failure();
        sorted = std::move(*made);
        shift += digit_bits;
    } while (last_row >> shift > 0);
    return sorted;
}

} // namespace

result<void> cuda_operations::start(const embedding_forward& op) {
    const auto indices = list_of(op.indices, op.table);
    const std::size_t width = op.table.shape()[1];
    auto bad = look_out(run_, op.indices, op.table);
    if (!bad)
        return bad.failure();
    return cuda::checked(cuda::launch(run_.stream(), {grid_of(indices, width)}, embedding_kernel,
                                      cuda::floats(op.table), indices, width,
                                      cuda::floats(op.output), *bad),
                         {&op.table, &op.output});
}

result<void> cuda_operations::start(const embedding_backward& op) {
    const auto indices = list_of(op.indices, op.table_gradient);
    const std::size_t width = op.table_gradient.shape()[1];
    if (auto done = cuda::checked(cudaMemsetAsync(op.table_gradient.mutable_data(), 0,
                                                  op.table_gradient.bytes(), run_.stream()),
                                  {&op.table_gradient});
        !done || op.output_gradient.elements() == 0)
        return done;
    auto bad = look_out(run_, op.indices, op.table_gradient);
    if (!bad)
        return bad.failure();
    auto sorted = sort_places(indices, run_);
    if (!sorted)
        return sorted.failure();
    return cuda::checked(cuda::launch(run_.stream(), {grid_of(indices, width)},
                                      table_gradient_kernel, indices,
                                      reinterpret_cast<const std::size_t*>((*sorted)->data()),
                                      cuda::floats(op.output_gradient), width,
                                      cuda::floats(op.table_gradient), *bad),
                         {&op.output_gradient, &op.table_gradient});
}

} // namespace troupe
