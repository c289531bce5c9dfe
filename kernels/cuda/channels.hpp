// Sums over the values of every channel of images, as batch norms and the gradients of biases have them.
//
// What a channel has in all samples is cut into chunks. A block sums each, a warp puts those of a channel together: in an
// order that depends on the shape only.
#pragma once

#include <utility>

#include "kernels/cuda/execution.hpp"
#include "kernels/cuda/images.hpp"
#include "kernels/cuda/rows.hpp"
#include "kernels/cuda/status.hpp"

namespace troupe::cuda {

// Images of any number of dimensions behind the channels as those of one row.
inline tensor_shape flat_images(const tensor_shape& shape) {
    return {shape[0], shape[1], shape.elements() / shape[0] / shape[1], 1};
}

inline constexpr unsigned values_of_thread = 16;

// How the values of a shape's channels are cut. A warp is enough for few of them.
struct chunk_plan {
    std::size_t channels, values;     // of a channel
    unsigned threads;                 // of a block
    std::size_t chunk_values, chunks; // of a channel

    explicit chunk_plan(const tensor_shape& images)
        : channels{images[1]}, values{images.elements() / images[1]},
          threads{values <= warp_threads * values_of_thread ? warp_threads : block_threads},
          chunk_values{std::size_t{threads} * values_of_thread}, chunks{
                                                                     (values + chunk_values - 1) /
                                                                     chunk_values} {}

    std::size_t all_chunks() const { return channels * chunks; }
    // A block for every chunk, a warp for every channel.
    launch_shape by_chunk() const { return {blocks_for(all_chunks(), 1), threads}; }
    launch_shape by_channel() const { return {blocks_for(channels, warps_of_block)}; }
};

template <class Index>
class channel_chunks {
  public:
    channel_chunks(const chunk_plan& plan, const tensor_shape& images, std::size_t block)
        : places_{flat_images(images), block}, values_{static_cast<Index>(plan.values)},
          chunk_values_{static_cast<Index>(plan.chunk_values)}, count_{plan.all_chunks()},
          by_chunks_{plan.chunks}, by_pixels_{plan.values / images[0]} {}

    struct chunk {
        Index channel;
        Index first; // of its values
        Index values;
    };
    __device__ std::size_t count() const { return count_; }
    __device__ chunk at(std::size_t i) const {
        const auto [channel, place] = by_chunks_.divide(static_cast<Index>(i));
        const Index first = place * chunk_values_;
        const Index left = values_ - first;
        return {channel, first, left < chunk_values_ ? left : chunk_values_};
    }
    // Place of a value of a channel in memory.
    __device__ Index offset(Index channel, Index value) const {
        const auto [sample, pixel] = by_pixels_.divide(value);
        return places_.offset(places_.of_channel(sample, channel, pixel, 0));
    }

  private:
    image_places<Index> places_;
    Index values_, chunk_values_;
    std::size_t count_;
    divisor<Index> by_chunks_, by_pixels_;
};

template <unsigned N>
struct channel_sums {
    float* at[N]; // (channels) each
};

// terms.add(channel, offset of a value, sums), a __device__ member, adds what the value gives to each of N sums.
template <unsigned N, class Index, class Terms>
__global__ void sum_chunks_kernel(channel_chunks<Index> chunks, Terms terms, float* of_chunks) {
    for (std::size_t i = blockIdx.x; i < chunks.count(); i += gridDim.x) {
        const auto chunk = chunks.at(i);
        float sums[N] = {};
#pragma unroll
        for (unsigned k = 0; k < values_of_thread; ++k) {
            const Index v = k * blockDim.x + threadIdx.x;
            if (v < chunk.values)
                terms.add(chunk.channel, chunks.offset(chunk.channel, chunk.first + v), sums);
        }
#pragma unroll
        for (unsigned n = 0; n < N; ++n) {
            const float sum = over_block(sums[n]);
            if (threadIdx.x == 0)
                of_chunks[n * chunks.count() + i] = sum;
        }
    }
}

// A warp for every channel.
template <unsigned N>
__global__ void join_chunks_kernel(std::size_t channels, std::size_t chunks, const float* of_chunks,
                                   channel_sums<N> sums) {
    for (std::size_t c = warp_of_row::first_row(); c < channels; c += warp_of_row::row_step())
#pragma unroll
        for (unsigned n = 0; n < N; ++n) {
            double sum = 0;
            for (std::size_t k = warp_of_row::index(); k < chunks; k += warp_threads)
                sum += double{of_chunks[(n * channels + c) * chunks + k]};
            sum = over_warp(sum);
            if (warp_of_row::index() == 0)
                sums.at[n][c] = static_cast<float>(sum);
        }
}

// Puts into the stream: the sums over each channel of `images` of what `terms` adds for its values.
template <unsigned N, class Terms>
result<void> sum_channels(const tensor& images, std::size_t block, const Terms& terms,
                          const channel_sums<N>& sums, execution& run) {
    const chunk_plan plan{images.shape()};
    auto scratch = run.scratch(N * plan.all_chunks() * sizeof(float));
    if (!scratch)
        return scratch.failure();
    float* const of_chunks = floats(*scratch);
    auto status = with_index({images.elements()}, [&]<class Index>(Index) {
        return launch(run.stream(), plan.by_chunk(), sum_chunks_kernel<N, Index, Terms>,
                      channel_chunks<Index>{plan, images.shape(), block}, terms, of_chunks);
    });
    if (status == cudaSuccess)
        status = launch(run.stream(), plan.by_channel(), join_chunks_kernel<N>, plan.channels,
                        plan.chunks, of_chunks, sums);
    return checked(status, {&images});
}

} // namespace troupe::cuda
