#include "kernels/cuda/channels.hpp"
#include "kernels/cuda/cuda_operations.hpp"

namespace troupe {

namespace {

// ---- helpers ----------------------------------------------------------------------------------------------------------

// Moments of the chunks of all channels: the mean of each and the sum of squared differences from it.
struct chunk_moments {
    float* mean;
    float* squares;
};

// ---- kernels ----------------------------------------------------------------------------------------------------------

// A thread keeps its values: they are read once.
template <class Index>
__global__ void chunk_moments_kernel(cuda::channel_chunks<Index> chunks, const float* input,
                                     chunk_moments moments) {
    for (std::size_t i = blockIdx.x; i < chunks.count(); i += gridDim.x) {
        const auto chunk = chunks.at(i);
        float x[cuda::values_of_thread];
        float sum = 0;
#pragma unroll
        for (unsigned k = 0; k < cuda::values_of_thread; ++k) {
            const Index v = k * blockDim.x + threadIdx.x;
            x[k] = v < chunk.values ? input[chunks.offset(chunk.channel, chunk.first + v)] : 0;
            sum += x[k];
        }
        const float mean = cuda::over_block(sum) / static_cast<float>(chunk.values);
        float squares = 0;
#pragma unroll
        for (unsigned k = 0; k < cuda::values_of_thread; ++k)
            if (k * blockDim.x + threadIdx.x < chunk.values)
                squares += (x[k] - mean) * (x[k] - mean);
        squares = cuda::over_block(squares);
        if (threadIdx.x == 0) {
            moments.mean[i] = mean;
            moments.squares[i] = squares;
        }
    }
}

// A warp for every channel. Squares around the common mean are those around the chunk's and what the means are apart: Chan,
// Golub and LeVeque 1983.
__global__ void join_moments_kernel(cuda::chunk_plan plan, chunk_moments moments, float epsilon,
                                    float* mean, float* variance, float* inverse_deviation) {
    using threads = cuda::warp_of_row;
    const std::size_t chunks = plan.chunks, values = plan.values;
    const auto values_of = [&](std::size_t chunk) {
        return static_cast<double>(chunk + 1 < chunks ? plan.chunk_values
                                                      : values - chunk * plan.chunk_values);
    };
    for (std::size_t c = threads::first_row(); c < plan.channels; c += threads::row_step()) {
        const float* const means = moments.mean + c * chunks;
        const float* const squares = moments.squares + c * chunks;
        double sum = 0, apart = 0;
        for (std::size_t k = threads::index(); k < chunks; k += threads::count())
            sum += values_of(k) * double{means[k]};
        const double m = cuda::over_warp(sum) / static_cast<double>(values);
        for (std::size_t k = threads::index(); k < chunks; k += threads::count())
            apart +=
                double{squares[k]} + values_of(k) * (double{means[k]} - m) * (double{means[k]} - m);
        apart = cuda::over_warp(apart);
        if (threads::index() == 0) {
            mean[c] = static_cast<float>(m);
            variance[c] = static_cast<float>(apart / static_cast<double>(values - 1));
            inverse_deviation[c] =
                static_cast<float>(1 / sqrt(apart / static_cast<double>(values) + double{epsilon}));
        }
    }
}

template <class Index>
struct normalize_pass {
    cuda::image_places<Index> at;
    const float *input, *mean, *inverse_deviation, *weight, *bias;
    float* output;

    __device__ void operator()(std::size_t i) const {
        const Index c = at.channel(at.at(i)).remainder;
        output[i] = (input[i] - mean[c]) * (inverse_deviation[c] * weight[c]) + bias[c];
    }
};

struct inverse_deviation_pass {
    const float* variance;
    float epsilon;
    float* inverse_deviation;

    __device__ void operator()(std::size_t c) const {
        inverse_deviation[c] = 1 / sqrtf(variance[c] + epsilon);
    }
};

// For the gradients of the bias and of the weight.
struct gradient_terms {
    const float *input, *mean, *inverse_deviation, *output_gradient;

    template <class Index>
    __device__ void add(Index channel, Index i, float* sums) const {
        const float g = output_gradient[i];
        sums[0] += g;
        sums[1] += g * ((input[i] - mean[channel]) * inverse_deviation[channel]);
    }
};

template <class Index>
struct input_gradient_pass {
    cuda::image_places<Index> at;
    const float *input, *mean, *inverse_deviation, *weight, *output_gradient;
    const float *to_bias, *to_weight;
    float share; // of a value in the mean
    float* input_gradient;

    __device__ void operator()(std::size_t i) const {
        const Index c = at.channel(at.at(i)).remainder;
        const float r = inverse_deviation[c];
        const float x = (input[i] - mean[c]) * r;
        input_gradient[i] =
            r * weight[c] * (output_gradient[i] - to_bias[c] * share - x * (to_weight[c] * share));
    }
};

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

namespace {

// Shared by forward and inference.
template <class Norm>
result<void> normalize(const Norm& op, const float* inverse_deviation, cudaStream_t stream) {
    const auto status = cuda::with_index({op.input.elements()}, [&]<class Index>(Index) {
        const cuda::image_places<Index> at{cuda::flat_images(op.input.shape()), op.settings.block};
        return cuda::launch_elements(
            stream, op.input.elements(),
            normalize_pass<Index>{at, cuda::floats(op.input), cuda::floats(op.mean),
                                  inverse_deviation, cuda::floats(op.weight), cuda::floats(op.bias),
                                  cuda::floats(op.output)});
    });
    return cuda::checked(status, {&op.input});
}

} // namespace

result<void> cuda_operations::start(const batch_norm_forward& op) {
    const cuda::chunk_plan plan{op.input.shape()};
    auto scratch = run_.scratch(2 * plan.all_chunks() * sizeof(float));
    if (!scratch)
        return scratch.failure();
    const chunk_moments moments{cuda::floats(*scratch), cuda::floats(*scratch) + plan.all_chunks()};
    auto status = cuda::with_index({op.input.elements()}, [&]<class Index>(Index) {
        const cuda::channel_chunks<Index> chunks{plan, op.input.shape(), op.settings.block};
        return cuda::launch(run_.stream(), plan.by_chunk(), chunk_moments_kernel<Index>, chunks,
                            cuda::floats(op.input), moments);
    });
    if (status == cudaSuccess)
        status = cuda::launch(run_.stream(), plan.by_channel(), join_moments_kernel, plan, moments,
                              op.settings.epsilon, cuda::floats(op.mean), cuda::floats(op.variance),
                              cuda::floats(op.inverse_deviation));
    if (auto done = cuda::checked(status, {&op.input}); !done)
        return done;
    return normalize(op, cuda::floats(op.inverse_deviation), run_.stream());
}

result<void> cuda_operations::start(const batch_norm_inference& op) {
    const std::size_t channels = op.variance.elements();
    auto scratch = run_.scratch(channels * sizeof(float));
    if (!scratch)
        return scratch.failure();
    float* const inverse_deviation = cuda::floats(*scratch);
    if (auto done = cuda::checked(
            cuda::launch_elements(run_.stream(), channels,
                                  inverse_deviation_pass{cuda::floats(op.variance),
                                                         op.settings.epsilon, inverse_deviation}),
            {&op.variance});
        !done)
        return done;
    return normalize(op, inverse_deviation, run_.stream());
}

result<void> cuda_operations::start(const batch_norm_backward& op) {
    const gradient_terms terms{cuda::floats(op.input), cuda::floats(op.mean),
                               cuda::floats(op.inverse_deviation),
                               cuda::floats(op.output_gradient)};
    float* const to_bias = cuda::floats(op.bias_gradient);
    float* const to_weight = cuda::floats(op.weight_gradient);
    if (auto done =
            cuda::sum_channels<2>(op.input, op.settings.block, terms, {{to_bias, to_weight}}, run_);
        !done || op.input_gradient == nullptr)
        return done;
    const std::size_t elements = op.input.elements();
    const float share = static_cast<float>(op.weight.elements()) / static_cast<float>(elements);
    const auto status = cuda::with_index({elements}, [&]<class Index>(Index) {
        const cuda::image_places<Index> at{cuda::flat_images(op.input.shape()), op.settings.block};
        return cuda::launch_elements(
            run_.stream(), elements,
            input_gradient_pass<Index>{at, terms.input, terms.mean, terms.inverse_deviation,
                                       cuda::floats(op.weight), terms.output_gradient, to_bias,
                                       to_weight, share, cuda::floats(*op.input_gradient)});
    });
    return cuda::checked(status, {&op.input});
}

} // namespace troupe
