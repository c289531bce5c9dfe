// The list of operations: all that layers and optimizers compute. One back end is one table of
// them.
//
// Every operation has a public function that checks types and shapes in one place and a private
// virtual one that a back end implements and that may rely on the checks. Outputs are allocated by
// the caller and overwritten whole; what they held before (NaN, too) does not matter.
//
// Images are (samples, channels, height, width) float32. In memory they are row-major when their
// channel block is 1; with a block b that divides the channels the memory order is (samples,
// channels / b, height, width, b), in which a CPU's vectors lie side by side. `shape()` says
// (samples, channels, height, width) in both cases.
//
// Threads: one at a time. Results depend on operands only: not on thread, address, time or earlier
// calls. Errors: errc::usage for shapes that do not fit together, errc::exhausted for memory,
// errc::data for bad labels.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

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

struct linear_forward_operands {
    const tensor& input;  // (samples, in)
    const tensor& weight; // (out, in)
    const tensor& bias;   // (out)
    tensor& output;       // (samples, out)
};

struct linear_backward_operands {
    const tensor& input;           // (samples, in)
    const tensor& weight;          // (out, in)
    const tensor& output_gradient; // (samples, out)
    tensor* input_gradient;        // (samples, in), or null where nobody wants it
    tensor& weight_gradient;       // (out, in)
    tensor& bias_gradient;         // (out)
};

struct conv2d_settings {
    std::size_t stride = 1;
    std::size_t padding = 0;      // zeros on every side
    std::size_t input_block = 1;  // channel block of input and input_gradient
    std::size_t output_block = 1; // channel block of output and output_gradient

    friend auto operator<=>(const conv2d_settings&, const conv2d_settings&) = default;
};

struct conv2d_forward_operands {
    conv2d_settings settings;
    const tensor& input;  // (samples, in, height, width)
    const tensor& weight; // (out, in, kernel, kernel), row-major
    const tensor& bias;   // (out)
    tensor& output;       // (samples, out, windows, windows)
};

struct conv2d_backward_operands {
    conv2d_settings settings;
    const tensor& input;           // (samples, in, height, width)
    const tensor& weight;          // (out, in, kernel, kernel)
    const tensor& output_gradient; // (samples, out, windows, windows)
    tensor* input_gradient;        // like input, or null where nobody wants it
    tensor& weight_gradient;       // like weight
    tensor& bias_gradient;         // (out)
};

struct max_pool_settings {
    std::size_t kernel = 2;
    std::size_t stride = 2;
    std::size_t block = 1; // channel block of input, output and positions
};

// The type of `positions`: small windows need one byte.
constexpr data_type position_type(std::size_t kernel) noexcept {
    return kernel <= 16 ? data_type::uint8 : data_type::int32;
}

struct max_pool_forward_operands {
    max_pool_settings settings;
    const tensor& input; // (samples, channels, height, width)
    tensor& output;      // (samples, channels, windows, windows)
    tensor& positions;   // like output, position_type(kernel): row * kernel + column of the first
                         // largest in its window
};

struct max_pool_backward_operands {
    max_pool_settings settings;
    const tensor& output_gradient; // (samples, channels, windows, windows)
    const tensor& positions;       // as the forward pass left it
    tensor& input_gradient;        // (samples, channels, height, width)
};

// pool(relu(conv2d(input))) without its intermediate results in memory. pool.block is the convolution's output_block.
struct conv2d_pool_forward_operands {
    conv2d_settings settings;
    max_pool_settings pool;
    const tensor& input;  // (samples, in, height, width)
    const tensor& weight; // (out, in, kernel, kernel)
    const tensor& bias;   // (out)
    tensor& output;       // (samples, out, pooled windows, pooled windows)
    tensor& positions; // like output, position_type(pool.kernel): where an output above 0 came from
};

struct conv2d_pool_backward_operands {
    conv2d_settings settings;
    max_pool_settings pool;
    const tensor& input;           // as in the forward pass
    const tensor& weight;          // as in the forward pass
    const tensor& output;          // as the forward pass left it
    const tensor& positions;       // as the forward pass left it
    const tensor& output_gradient; // like output
    tensor* input_gradient;        // like input, or null where nobody wants it
    tensor& weight_gradient;       // like weight
    tensor& bias_gradient;         // (out)
};

struct softmax_cross_entropy_operands {
    const tensor& logits; // (samples, classes)
    const tensor& labels; // (samples), int32
    float scale;          // of the gradient
    tensor* gradient; // like logits: scale * d(loss sum)/d(logits), or null where nobody wants it
};

struct softmax_cross_entropy_sums {
    double loss = 0;           // sum over the samples
    std::uint64_t correct = 0; // samples whose label's logit is the (first) largest
};

// m' = momentum * m + g; w' = w - learning_rate * m'. New tensors may be the old ones.
struct momentum_update_operands {
    float learning_rate;
    float momentum;
    const tensor& gradient;
    const tensor& weight;
    const tensor& velocity;
    tensor& new_weight;
    tensor& new_velocity;
};

class operations {
  public:
    virtual ~operations() = default;

    virtual std::string_view name() const noexcept = 0;

    // The channel block in which this back end computes images of so many channels fastest; divides
    // `channels`.
    virtual std::size_t channel_block(std::size_t channels) const noexcept = 0;

    // output[s][o] = bias[o] + sum over i of input[s][i] * weight[o][i]
    result<void> linear_forward(const linear_forward_operands& operands);
    result<void> linear_backward(const linear_backward_operands& operands);

    // output[s][o][y][x] = bias[o] + sum over i, r, c of weight[o][i][r][c] *
    //                      input[s][i][y * stride + r - padding][x * stride + c - padding]
    result<void> conv2d_forward(const conv2d_forward_operands& operands);
    result<void> conv2d_backward(const conv2d_backward_operands& operands);

    // output[s][c][y][x] = largest of the kernel x kernel window of input[s][c] that begins at
    // (y, x) * stride
    result<void> max_pool_forward(const max_pool_forward_operands& operands);
    // Every window's gradient goes to its position; overlapping windows add up in row-major order.
    result<void> max_pool_backward(const max_pool_backward_operands& operands);

    // The same bits as conv2d, relu and max_pool one after another.
    result<void> conv2d_pool_forward(const conv2d_pool_forward_operands& operands);
    result<void> conv2d_pool_backward(const conv2d_pool_backward_operands& operands);

    // output = max(input, 0), any shape; output may be input.
    result<void> relu_forward(const tensor& input, tensor& output);
    // input_gradient = output > 0 ? output_gradient : 0; input_gradient may be output_gradient.
    result<void> relu_backward(const tensor& output, const tensor& output_gradient,
                               tensor& input_gradient);

    // loss[s] = log(sum over c of exp(logits[s][c])) - logits[s][labels[s]]
    result<softmax_cross_entropy_sums>
    softmax_cross_entropy(const softmax_cross_entropy_operands& operands);

    result<void> momentum_update(const momentum_update_operands& operands);
    // result = x + factor * y, any shape; result may be x or y.
    result<void> add_scaled(const tensor& x, float factor, const tensor& y, tensor& result);
    // Every element becomes `value`.
    result<void> fill(tensor& output, float value);

    // The same images in another channel block.
    result<void> change_block(const tensor& input, std::size_t input_block, tensor& output,
                              std::size_t output_block);

  private:
    virtual result<void> do_linear_forward(const linear_forward_operands& operands) = 0;
    virtual result<void> do_linear_backward(const linear_backward_operands& operands) = 0;
    virtual result<void> do_conv2d_forward(const conv2d_forward_operands& operands) = 0;
    virtual result<void> do_conv2d_backward(const conv2d_backward_operands& operands) = 0;
    virtual result<void> do_max_pool_forward(const max_pool_forward_operands& operands) = 0;
    virtual result<void> do_max_pool_backward(const max_pool_backward_operands& operands) = 0;
    virtual result<void> do_conv2d_pool_forward(const conv2d_pool_forward_operands& operands) = 0;
    virtual result<void> do_conv2d_pool_backward(const conv2d_pool_backward_operands& operands) = 0;
    virtual result<void> do_relu_forward(const tensor& input, tensor& output) = 0;
    virtual result<void> do_relu_backward(const tensor& output, const tensor& output_gradient,
                                          tensor& input_gradient) = 0;
    virtual result<softmax_cross_entropy_sums>
    do_softmax_cross_entropy(const softmax_cross_entropy_operands& operands) = 0;
    virtual result<void> do_momentum_update(const momentum_update_operands& operands) = 0;
    virtual result<void> do_add_scaled(const tensor& x, float factor, const tensor& y,
                                       tensor& result) = 0;
    virtual result<void> do_fill(tensor& output, float value) = 0;
    virtual result<void> do_change_block(const tensor& input, std::size_t input_block,
                                         tensor& output, std::size_t output_block) = 0;
};

} // namespace troupe
