// Operations on images: (samples, channels, height, width) float32.
//
// In memory images are row-major when their channel block is 1; with a block b that divides the channels the memory order
// is (samples, channels / b, height, width, b), in which a CPU's vectors lie side by side. `shape()` says (samples,
// channels, height, width) in both cases.
#pragma once

#include <compare>

#include "kernels/ops/precision.hpp"
#include "kernels/tensor/tensor.hpp"

namespace troupe {

// Where an element of an image batch lies.
struct image_layout {
    std::size_t channels = 0;
    std::size_t height = 0;
    std::size_t width = 0;
    std::size_t block = 1;

    image_layout(const tensor_shape& shape, std::size_t block) noexcept
        : channels{shape[1]}, height{shape[2]}, width{shape[3]}, block{block} {}

    std::size_t offset(std::size_t sample, std::size_t channel, std::size_t y,
                       std::size_t x) const noexcept {
        const std::size_t plane = sample * (channels / block) + channel / block;
        return ((plane * height + y) * width + x) * block + channel % block;
    }
};

// (size + 2 * padding - window) / stride + 1; 0 where the window does not fit.
constexpr std::size_t windows_along(std::size_t size, std::size_t window, std::size_t stride,
                                    std::size_t padding) noexcept {
    return size + 2 * padding < window ? 0 : (size + 2 * padding - window) / stride + 1;
}

struct conv2d_settings {
    std::size_t stride = 1;
    std::size_t padding = 0;      // zeros on every side
    std::size_t input_block = 1;  // channel block of input and input_gradient
    std::size_t output_block = 1; // channel block of output and output_gradient
    std::size_t groups =
        1; // each takes its share of the input's channels and gives its share of the output's
    precision products =
        precision::float32; // in 16 bits the gradient of the bias sums rounded ones, too

    friend auto operator<=>(const conv2d_settings&, const conv2d_settings&) = default;
};

// output[s][o][y][x] = bias[o] + sum over i, r, c of weight[o][i][r][c] *
//                      input[s][first + i][y * stride + r - padding][x * stride + c - padding]
// where `first` is the first channel of the group of input channels that belongs to output channel o.
struct conv2d_forward {
    conv2d_settings settings;
    const tensor& input;  // (samples, in, height, width)
    const tensor& weight; // (out, in / groups, kernel, kernel), row-major
    const tensor* bias;   // (out), or null: zeros
    tensor& output;       // (samples, out, windows, windows)

    result<void> check() const;
};

struct conv2d_backward {
    conv2d_settings settings;
    const tensor& input;           // (samples, in, height, width)
    const tensor& weight;          // (out, in / groups, kernel, kernel)
    const tensor& output_gradient; // (samples, out, windows, windows)
    tensor* input_gradient;        // like input, or null where nobody wants it
    tensor& weight_gradient;       // like weight
    tensor* bias_gradient;         // (out), or null without a bias

    result<void> check() const;
};

struct max_pool_settings {
    std::size_t kernel = 2;
    std::size_t stride = 2;
    std::size_t block = 1;   // channel block of input, output and positions
    std::size_t padding = 0; // on every side, smaller than all numbers; at most half the kernel
};

// The type of `positions`: small windows need one byte.
constexpr data_type position_type(std::size_t kernel) noexcept {
    return kernel <= 16 ? data_type::uint8 : data_type::int32;
}

// output[s][c][y][x] = largest of the kernel x kernel window of input[s][c] that begins at (y, x) * stride - padding
struct max_pool_forward {
    max_pool_settings settings;
    const tensor& input; // (samples, channels, height, width)
    tensor& output;      // (samples, channels, windows, windows)
    tensor& positions;   // like output, position_type(kernel): row * kernel + column of the first
                         // largest in its window

    result<void> check() const;
};

// Every window's gradient goes to its position; overlapping windows add up in row-major order.
struct max_pool_backward {
    max_pool_settings settings;
    const tensor& output_gradient; // (samples, channels, windows, windows)
    const tensor& positions;       // as the forward pass left it
    tensor& input_gradient;        // (samples, channels, height, width)

    result<void> check() const;
};

// pool(relu(conv2d(input))) without its intermediate results in memory; the same bits. pool.block is the convolution's
// output_block.
struct conv2d_pool_forward {
    conv2d_settings settings;
    max_pool_settings pool;
    const tensor& input;  // (samples, in, height, width)
    const tensor& weight; // (out, in, kernel, kernel)
    const tensor* bias;   // (out), or null: zeros
    tensor& output;       // (samples, out, pooled windows, pooled windows)
    tensor& positions; // like output, position_type(pool.kernel): where an output above 0 came from

    result<void> check() const;
};

struct conv2d_pool_backward {
    conv2d_settings settings;
    max_pool_settings pool;
    const tensor& input;           // as in the forward pass
    const tensor& weight;          // as in the forward pass
    const tensor& output;          // as the forward pass left it
    const tensor& positions;       // as the forward pass left it
    const tensor& output_gradient; // like output
    tensor* input_gradient;        // like input, or null where nobody wants it
    tensor& weight_gradient;       // like weight
    tensor* bias_gradient;         // (out), or null without a bias

    result<void> check() const;
};

struct average_pool_settings {
    std::size_t kernel_height = 2;
    std::size_t kernel_width = 2;
    std::size_t stride = 2;
    std::size_t padding = 0; // zeros on every side, at most half the kernel
    std::size_t block = 1;   // channel block of input and output
};

// output[s][c][y][x] = mean of the window of input[s][c] that begins at (y, x) * stride - padding, zeros of the padding
// included, as in torch.nn.AvgPool2d. A window of the image's size makes it global.
struct average_pool_forward {
    average_pool_settings settings;
    const tensor& input; // (samples, channels, height, width)
    tensor& output;      // (samples, channels, windows, windows)

    result<void> check() const;
};

// Every window's gradient in equal shares to its elements.
struct average_pool_backward {
    average_pool_settings settings;
    const tensor& output_gradient; // (samples, channels, windows, windows)
    tensor& input_gradient;        // (samples, channels, height, width)

    result<void> check() const;
};

// The same images in another channel block.
struct change_block {
    const tensor& input;
    std::size_t input_block;
    tensor& output;
    std::size_t output_block;

    result<void> check() const;
};

} // namespace troupe
