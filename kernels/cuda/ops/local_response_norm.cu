#include <algorithm>

#include "kernels/cuda/channels.hpp"
#include "kernels/cuda/cuda_operations.hpp"

namespace troupe {

namespace {

// ---- helpers ----------------------------------------------------------------------------------------------------------

// The channels that count for the norm of another at the same pixel.
template <class Index>
class response_window {
  public:
    struct range {
        Index first, end;
    };

    response_window(const local_response_norm_settings& s, const tensor_shape& images)
        : channels_{static_cast<Index>(images[1])}, before_{static_cast<Index>(
                                                        std::min(s.size / 2, images[1]))},
          after_{static_cast<Index>(std::min((s.size - 1) / 2, images[1]))} {}

    __device__ range that_count_for(Index c) const { return around(c, before_, after_); }
    __device__ range for_which_counts(Index c) const { return around(c, after_, before_); }

  private:
    __device__ range around(Index c, Index before, Index after) const {
        return {c > before ? c - before : 0, c + after < channels_ ? c + after + 1 : channels_};
    }

    Index channels_, before_, after_;
};

template <class Index>
struct response_norm {
    cuda::image_places<Index> at;
    response_window<Index> window;
    float share, beta, k;

    response_norm(const local_response_norm_settings& s, const tensor_shape& images)
        : at{cuda::flat_images(images), s.block}, window{s, images},
          share{s.alpha / static_cast<float>(s.size)}, beta{s.beta}, k{s.k} {}

    // The sum of f(offset) over the channels of a range, at the pixel of `p`.
    template <class Function>
    __device__ float sum_over(typename response_window<Index>::range channels, Index sample,
                              const typename cuda::image_places<Index>::place& p,
                              Function f) const {
        float sum = 0;
        for (Index d = channels.first; d < channels.end; ++d)
            sum += f(at.offset(at.of_channel(sample, d, p.y, p.x)));
        return sum;
    }
    // s of the contract.
    __device__ float scale(const float* input, std::size_t i) const {
        const auto p = at.at(i);
        const auto [sample, channel] = at.channel(p);
        return k + share * sum_over(window.that_count_for(channel), sample, p,
                                    [&](Index d) { return input[d] * input[d]; });
    }
};

// ---- kernels ----------------------------------------------------------------------------------------------------------

template <class Index>
struct forward_pass {
    response_norm<Index> norm;
    const float* input;
    float* output;

    __device__ void operator()(std::size_t i) const {
        output[i] = input[i] * powf(norm.scale(input, i), -norm.beta);
    }
};

// The share of an element's own norm in its gradient, and what it gives to those of its neighbours. input_gradient may be
// output_gradient.
template <class Index>
struct own_gradient_pass {
    response_norm<Index> norm;
    const float *input, *output_gradient;
    float *input_gradient, *to_neighbours;

    __device__ void operator()(std::size_t i) const {
        const float scale = norm.scale(input, i);
        const float own = output_gradient[i] * powf(scale, -norm.beta);
        to_neighbours[i] = own * input[i] / scale;
        input_gradient[i] = own;
    }
};

template <class Index>
struct neighbours_gradient_pass {
    response_norm<Index> norm;
    float factor;
    const float *input, *to_neighbours;
    float* input_gradient;

    __device__ void operator()(std::size_t i) const {
        const auto p = norm.at.at(i);
        const auto [sample, channel] = norm.at.channel(p);
        const float sum = norm.sum_over(norm.window.for_which_counts(channel), sample, p,
                                        [&](Index d) { return to_neighbours[d]; });
        input_gradient[i] -= factor * input[i] * sum;
    }
};

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> cuda_operations::start(const local_response_norm_forward& op) {
    const float* input = cuda::floats(op.input);
    buffer_ref kept;
    if (input == cuda::floats(op.output)) { // which others still read
        auto copy = run_.scratch(op.input.bytes());
        if (!copy)
            return copy.failure();
        kept = std::move(*copy);
        if (auto done = cuda::checked(cudaMemcpyAsync(kept->data(), input, op.input.bytes(),
                                                      cudaMemcpyDefault, run_.stream()),
                                      {&op.input});
            !done)
            return done;
        input = cuda::floats(kept);
    }
    const auto status = cuda::with_index({op.input.elements()}, [&]<class Index>(Index) {
        return cuda::launch_elements(
            run_.stream(), op.input.elements(),
            forward_pass<Index>{{op.settings, op.input.shape()}, input, cuda::floats(op.output)});
    });
    return cuda::checked(status, {&op.input});
}

result<void> cuda_operations::start(const local_response_norm_backward& op) {
    auto scratch = run_.scratch(op.input.bytes());
    if (!scratch)
        return scratch.failure();
    const float* const input = cuda::floats(op.input);
    float* const input_gradient = cuda::floats(op.input_gradient);
    const auto status = cuda::with_index({op.input.elements()}, [&]<class Index>(Index) {
        const response_norm<Index> norm{op.settings, op.input.shape()};
        const cudaError_t own = cuda::launch_elements(
            run_.stream(), op.input.elements(),
            own_gradient_pass<Index>{norm, input, cuda::floats(op.output_gradient), input_gradient,
                                     cuda::floats(*scratch)});
        if (own != cudaSuccess)
            return own;
        return cuda::launch_elements(
            run_.stream(), op.input.elements(),
            neighbours_gradient_pass<Index>{norm, 2 * norm.share * norm.beta, input,
                                            cuda::floats(*scratch), input_gradient});
    });
    return cuda::checked(status, {&op.input});
}

} // namespace troupe
