// The windows of a convolution as columns of a matrix, and back.
//
// The windows of all samples stand side by side, in row-major order; a column is what one covers: (channels, kernel height,
// kernel width), zeros for padding. Beside the columns stand the outputs of the windows, or their gradients: (outs).
// Matrices of a range of windows are row-major; what is behind a row's last window is 0 where it is written here.
#pragma once

#include "kernels/cuda/execution.hpp"
#include "kernels/ops/images.hpp"

namespace troupe::cuda {

// Which convolution it is. Of what it refers to only the shapes matter.
struct convolution {
    const conv2d_settings& settings;
    const tensor_shape &images, &weight, &windows; // of input, weight and output

    std::size_t outs() const { return weight[0]; }
    std::size_t outs_of_group() const { return outs() / settings.groups; }
    std::size_t fields() const { return weight[2] * weight[3]; } // of a window and a channel
    std::size_t column() const { return images[1] * fields(); }
    std::size_t column_of_group() const { return weight[1] * fields(); }
    std::size_t windows_of_sample() const { return windows[2] * windows[3]; }
    std::size_t all_windows() const { return windows[0] * windows_of_sample(); }
};

// Windows first to first + count. Rows of their matrices are `stride` long.
struct window_range {
    std::size_t first, count, stride;
};

// Each puts a kernel into the stream.

result<void> make_columns(const convolution& c, const window_range& r, const tensor& input,
                          float* columns, cudaStream_t stream);

// input_gradient = for every pixel the sum of the columns' elements that came from it. Ranges are to be added in order: the
// first that has a window of a sample sets what the others add to.
result<void> add_columns(const convolution& c, const window_range& r, const float* columns,
                         tensor& input_gradient, cudaStream_t stream);

// output = sums + bias, null for zeros.
result<void> give_outputs(const convolution& c, const window_range& r, const float* sums,
                          const tensor* bias, tensor& output, cudaStream_t stream);

result<void> take_gradients(const convolution& c, const window_range& r,
                            const tensor& output_gradient, float* gradients, cudaStream_t stream);

} // namespace troupe::cuda
