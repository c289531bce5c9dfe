#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/elements.hpp"
#include "kernels/cuda/images.hpp"
#include "kernels/cuda/reductions.hpp"

namespace troupe {

namespace {

// ---- helpers ----------------------------------------------------------------------------------------------------------

constexpr std::size_t pixels_of_thread = 32; // larger windows are summed by a warp each

template <class Index>
struct average_pool_windows {
    cuda::image_places<Index> images, windows;
    cuda::axis_windows<Index> rows, columns;
    float pixels; // of a window

    average_pool_windows(const average_pool_settings& s, const tensor_shape& images,
                         const tensor_shape& windows)
        : images{images, s.block}, windows{windows, s.block}, rows{images[2], s.kernel_height,
                                                                   s.stride, s.padding},
          columns{images[3], s.kernel_width, s.stride, s.padding}, pixels{static_cast<float>(
                                                                       s.kernel_height *
                                                                       s.kernel_width)} {}
};

template <class Launch>
cudaError_t with_index(const average_pool_settings& s, const tensor& images, const Launch& launch) {
    return cuda::with_index({images.elements(), s.stride, images.shape()[2] + 2 * s.padding,
                             images.shape()[3] + 2 * s.padding},
                            launch);
}

// ---- kernels ----------------------------------------------------------------------------------------------------------

template <class Index>
struct forward_pass {
    average_pool_windows<Index> at;
    const float* input;
    float* output;

    __device__ void operator()(std::size_t i) const {
        const auto w = at.windows.at(i);
        const auto rows = at.rows.covered(w.y);
        const auto columns = at.columns.covered(w.x);
        float sum = 0;
        for (Index y = rows.first; y < rows.end; ++y) {
            const float* value = input + at.images.offset({w.plane, y, columns.first, w.lane});
            for (Index x = columns.first; x < columns.end; ++x, value += at.images.block())
                sum += *value;
        }
        output[i] = sum / at.pixels;
    }
};

// A warp for every window.
template <class Index>
__global__ void wide_windows_kernel(std::size_t windows, average_pool_windows<Index> at,
                                    const float* input, float* output) {
    const unsigned lane = threadIdx.x % cuda::warp_threads;
    const std::size_t step = cuda::element_step() / cuda::warp_threads;
    for (std::size_t i = cuda::first_element() / cuda::warp_threads; i < windows; i += step) {
        const auto w = at.windows.at(i);
        const auto rows = at.rows.covered(w.y);
        const auto columns = at.columns.covered(w.x);
        const Index width = columns.end - columns.first;
        const Index pixels = (rows.end - rows.first) * width;
        float sum = 0;
        for (Index p = lane; p < pixels; p += cuda::warp_threads) {
            const Index row = p / width;
            sum += input[at.images.offset(
                {w.plane, rows.first + row, columns.first + (p - row * width), w.lane})];
        }
        sum = cuda::over_warp(sum);
        if (lane == 0)
            output[i] = sum / at.pixels;
    }
}

// Every pixel gathers from the windows that cover it.
template <class Index>
struct backward_pass {
    average_pool_windows<Index> at;
    const float* output_gradient;
    float* input_gradient;

    __device__ void operator()(std::size_t i) const {
        const auto p = at.images.at(i);
        const auto rows = at.rows.covering(p.y);
        const auto columns = at.columns.covering(p.x);
        float sum = 0;
        for (Index wy = rows.first; wy < rows.end; ++wy) {
            Index w = at.windows.offset({p.plane, wy, columns.first, p.lane});
            for (Index wx = columns.first; wx < columns.end; ++wx, w += at.windows.block())
                sum += output_gradient[w];
        }
        input_gradient[i] = sum / at.pixels;
    }
};

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> cuda_operations::start(const average_pool_forward& op) {
    const std::size_t windows = op.output.elements();
    const float* const input = cuda::floats(op.input);
    float* const output = cuda::floats(op.output);
    const auto status = with_index(op.settings, op.input, [&]<class Index>(Index) {
        const average_pool_windows<Index> at{op.settings, op.input.shape(), op.output.shape()};
        if (op.settings.kernel_height * op.settings.kernel_width <= pixels_of_thread)
            return cuda::launch_elements(run_.stream(), windows,
                                         forward_pass<Index>{at, input, output});
        const unsigned blocks = cuda::blocks_for(windows, cuda::block_threads / cuda::warp_threads);
        return cuda::launch(run_.stream(), {blocks}, wide_windows_kernel<Index>, windows, at, input,
                            output);
    });
    return cuda::checked(status, {&op.input, &op.output});
}

result<void> cuda_operations::start(const average_pool_backward& op) {
    const auto status = with_index(op.settings, op.input_gradient, [&]<class Index>(Index) {
        return cuda::launch_elements(run_.stream(), op.input_gradient.elements(),
                                     backward_pass<Index>{{op.settings, op.input_gradient.shape(),
                                                           op.output_gradient.shape()},
                                                          cuda::floats(op.output_gradient),
                                                          cuda::floats(op.input_gradient)});
    });
    return cuda::checked(status, {&op.output_gradient, &op.input_gradient});
}

} // namespace troupe
