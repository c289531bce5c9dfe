#include "kernels/cuda/convolution.hpp"

#include <algorithm>

#include "kernels/cuda/channels.hpp"
#include "kernels/cuda/factors.hpp"
#include "kernels/cuda/window_columns.hpp"

namespace troupe::cuda {

namespace {

// ---- helpers ----------------------------------------------------------------------------------------------------------

constexpr std::size_t aligned_windows = 8; // 16 bytes of the narrowest numbers

// Whether each window is a pixel, and row-major images have those of a channel beside one another.
bool is_of_pixels(const convolution& c) {
    const conv2d_settings& s = c.settings;
    return c.fields() == 1 && s.stride == 1 && s.padding == 0 && s.groups == 1 &&
           s.input_block == 1 && s.output_block == 1;
}

// Calls work(range, columns, outputs) for one range of windows after the other, with memory for its matrices.
template <class Work>
result<void> for_each_range(const convolution& c, execution& run, std::size_t bytes_max,
                            const Work& work) {
    const std::size_t fit = bytes_max / ((c.column() + c.outs()) * sizeof(float));
    const std::size_t most = std::max(fit / aligned_windows * aligned_windows, aligned_windows);
    const std::size_t stride =
        std::min(most, (c.all_windows() + aligned_windows - 1) / aligned_windows * aligned_windows);
    auto scratch = run.scratch((c.column() + c.outs()) * stride * sizeof(float));
    if (!scratch)
        return scratch.failure();
    float* const columns = floats(*scratch);
    for (std::size_t first = 0; first < c.all_windows(); first += stride) {
        const window_range range{first, std::min(stride, c.all_windows() - first), stride};
        if (auto done = work(range, columns, columns + c.column() * stride); !done)
            return done;
    }
    return {};
}

// ---- kernels ----------------------------------------------------------------------------------------------------------

template <class Index>
struct bias_pass {
    image_places<Index> at;
    const float* bias;
    float* output;

    __device__ void operator()(std::size_t i) const {
        output[i] += bias[at.channel(at.at(i)).remainder];
    }
};

struct bias_gradient_terms {
    const float* output_gradient;
    precision products;

    template <class Index>
    __device__ void add(Index, Index i, float* sums) const {
        sums[0] += factor(output_gradient[i], products);
    }
};

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> add_bias(const conv2d_forward& op, cudaStream_t stream) {
    if (op.bias == nullptr)
        return {};
    const auto status = with_index({op.output.elements()}, [&]<class Index>(Index) {
        const image_places<Index> at{flat_images(op.output.shape()), 1};
        return launch_elements(stream, op.output.elements(),
                               bias_pass<Index>{at, floats(op.bias), floats(op.output)});
    });
    return checked(status, {&op.output});
}

// One product for each sample, of the weights and the images as they lie.
result<void> convolve_pixels(const conv2d_forward& op, const convolution& c, execution& run) {
    const std::size_t ins = c.images[1], pixels = c.windows_of_sample();
    return run.multiply()({.m = c.outs(),
                           .n = pixels,
                           .k = ins,
                           .a = {floats(op.weight), ins},
                           .b = {floats(op.input), pixels, false, ins * pixels},
                           .c = floats(op.output),
                           .c_stride = pixels,
                           .c_batch_stride = c.outs() * pixels,
                           .batch = c.images[0],
                           .numbers = op.settings.products},
                          run.stream());
}

result<void> convolve_pixels_back(const conv2d_backward& op, const convolution& c, execution& run) {
    const std::size_t ins = c.images[1], pixels = c.windows_of_sample();
    return run.multiply()({.m = ins,
                           .n = pixels,
                           .k = c.outs(),
                           .a = {floats(op.weight), ins, true},
                           .b = {floats(op.output_gradient), pixels, false, c.outs() * pixels},
                           .c = floats(*op.input_gradient),
                           .c_stride = pixels,
                           .c_batch_stride = ins * pixels,
                           .batch = c.images[0],
                           .numbers = op.settings.products},
                          run.stream());
}

// Products over the windows of a range, one for each group.

result<void> multiply_forward(const conv2d_forward& op, const convolution& c, const window_range& r,
                              const float* columns, float* sums, execution& run) {
    const std::size_t outs = c.outs_of_group(), column = c.column_of_group();
    return run.multiply()({.m = outs,
                           .n = r.count,
                           .k = column,
                           .a = {floats(op.weight), column, false, outs * column},
                           .b = {columns, r.stride, false, column * r.stride},
                           .c = sums,
                           .c_stride = r.stride,
                           .c_batch_stride = outs * r.stride,
                           .batch = op.settings.groups,
                           .numbers = op.settings.products},
                          run.stream());
}

// Added to what earlier ranges gave.
result<void> multiply_to_weights(const conv2d_backward& op, const convolution& c,
                                 const window_range& r, const float* columns,
                                 const float* gradients, execution& run) {
    const std::size_t outs = c.outs_of_group(), column = c.column_of_group();
    return run.multiply()({.m = outs,
                           .n = column,
                           .k = r.count,
                           .a = {gradients, r.stride, false, outs * r.stride},
                           .b = {columns, r.stride, true, column * r.stride},
                           .beta = r.first == 0 ? 0.f : 1.f,
                           .c = floats(op.weight_gradient),
                           .c_stride = column,
                           .c_batch_stride = outs * column,
                           .batch = op.settings.groups,
                           .numbers = op.settings.products},
                          run.stream());
}

result<void> multiply_to_columns(const conv2d_backward& op, const convolution& c,
                                 const window_range& r, const float* gradients, float* columns,
                                 execution& run) {
    const std::size_t outs = c.outs_of_group(), column = c.column_of_group();
    return run.multiply()({.m = column,
                           .n = r.count,
                           .k = outs,
                           .a = {floats(op.weight), column, true, outs * column},
                           .b = {gradients, r.stride, false, outs * r.stride},
                           .c = columns,
                           .c_stride = r.stride,
                           .c_batch_stride = column * r.stride,
                           .batch = op.settings.groups,
                           .numbers = op.settings.products},
                          run.stream());
}

} // namespace

result<void> convolve(const conv2d_forward& op, execution& run, std::size_t bytes_max) {
    const auto is_done = run.by_cudnn().forward(op, run);
    if (!is_done)
        return is_done.failure();
    const auto stream = run.stream();
    if (*is_done)
        return add_bias(op, stream);
    const convolution c{op.settings, op.input.shape(), op.weight.shape(), op.output.shape()};
    if (is_of_pixels(c)) {
        auto done = convolve_pixels(op, c, run);
        return done ? add_bias(op, stream) : done;
    }
    return for_each_range(c, run, bytes_max,
                          [&](const window_range& r, float* columns, float* sums) -> result<void> {
                              if (auto done = make_columns(c, r, op.input, columns, stream); !done)
                                  return done;
                              if (auto done = multiply_forward(op, c, r, columns, sums, run); !done)
                                  return done;
                              return give_outputs(c, r, sums, op.bias, op.output, stream);
                          });
}

result<void> convolve_back(const conv2d_backward& op, execution& run, std::size_t bytes_max) {
    const convolution c{op.settings, op.input.shape(), op.weight.shape(),
                        op.output_gradient.shape()};
    if (op.bias_gradient != nullptr) {
        const bias_gradient_terms terms{floats(op.output_gradient), op.settings.products};
        if (auto done = sum_channels<1>(op.output_gradient, op.settings.output_block, terms,
                                        {{floats(*op.bias_gradient)}}, run);
            !done)
            return done;
    }
    const auto by_cudnn = run.by_cudnn().backward(op, run);
    if (!by_cudnn)
        return by_cudnn.failure();
    const bool needs_weight = !by_cudnn->weight;
    bool needs_input = op.input_gradient != nullptr && !by_cudnn->input;
    if (needs_input && is_of_pixels(c)) {
        if (auto done = convolve_pixels_back(op, c, run); !done)
            return done;
        needs_input = false;
    }
    if (!needs_weight && !needs_input)
        return {};
    const auto stream = run.stream();
    return for_each_range(
        c, run, bytes_max,
        [&](const window_range& r, float* columns, float* gradients) -> result<void> {
            if (auto done = take_gradients(c, r, op.output_gradient, gradients, stream); !done)
                return done;
            if (needs_weight) {
                if (auto done = make_columns(c, r, op.input, columns, stream); !done)
                    return done;
                if (auto done = multiply_to_weights(op, c, r, columns, gradients, run); !done)
                    return done;
            }
            if (!needs_input)
                return {};
            // The columns have done their work: those of the gradient take their place.
            if (auto done = multiply_to_columns(op, c, r, gradients, columns, run); !done)
                return done;
            return add_columns(c, r, columns, *op.input_gradient, stream);
        });
}

} // namespace troupe::cuda
