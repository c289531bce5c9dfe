#include "kernels/cpu/cpu_operations.hpp"

#include <algorithm>
#include <string>

#include "kernels/cpu/average_pool_loops.hpp"
#include "kernels/cpu/convolution_runner.hpp"
#include "kernels/cpu/floats.hpp"
#include "kernels/cpu/guarded.hpp"
#include "kernels/cpu/loops.hpp"

namespace troupe {

using cpu::floats;

namespace {

cpu::average_pool_task averaging(const average_pool_settings& settings, const tensor_shape& images,
                                 const tensor_shape& pooled) {
    return {.planes = images[0] * images[1] / settings.block,
            .height = images[2],
            .width = images[3],
            .windows_down = pooled[2],
            .windows_across = pooled[3],
            .kernel_height = settings.kernel_height,
            .kernel_width = settings.kernel_width,
            .stride = settings.stride,
            .padding = settings.padding,
            .block = settings.block};
}

// Runs a convolution of images that are row-major or in blocks of `block` channels, which is all that these loops and
// oneDNN's take.
template <class Work>
result<void> convolve(const conv2d_settings& settings, std::size_t block, Work work) {
    for (const std::size_t given : {settings.input_block, settings.output_block})
        if (given != 1 && given != block)
            return error{errc::usage,
                         "conv2d: images in blocks of " + std::to_string(given) +
                             " channels; this processor computes them row-major or in blocks of " +
                             std::to_string(block) +
                             "; give the channel_block() of these operations"};
    return cpu::guarded(work);
}

} // namespace

result<void> cpu_operations::compute(const conv2d_forward& op) {
    return convolve(op.settings, block_, [&] { convolutions_->forward(op); });
}

result<void> cpu_operations::compute(const conv2d_backward& op) {
    return convolve(op.settings, block_, [&] { convolutions_->backward(op); });
}

result<void> cpu_operations::compute(const max_pool_forward& op) {
    const cpu::arithmetic_scope scope;
    const auto task = cpu::pooling(op.settings, op.input.shape(), false);
    loops_.pool_forward(task, floats(op.input), floats(op.output), op.positions.mutable_data());
    return {};
}

result<void> cpu_operations::compute(const max_pool_backward& op) {
    const cpu::arithmetic_scope scope;
    const auto task = cpu::pooling(op.settings, op.input_gradient.shape(), false);
    const float* gradient = floats(op.output_gradient);
    loops_.pool_backward(task, gradient, gradient, op.positions.data(), floats(op.input_gradient));
    return {};
}

result<void> cpu_operations::compute(const average_pool_forward& op) {
    const cpu::arithmetic_scope scope;
    average_pool_loops_.forward(averaging(op.settings, op.input.shape(), op.output.shape()),
                                floats(op.input), floats(op.output));
    return {};
}

result<void> cpu_operations::compute(const average_pool_backward& op) {
    const cpu::arithmetic_scope scope;
    average_pool_loops_.backward(
        averaging(op.settings, op.input_gradient.shape(), op.output_gradient.shape()),
        floats(op.output_gradient), floats(op.input_gradient));
    return {};
}

result<void> cpu_operations::compute(const conv2d_pool_forward& op) {
    return convolve(op.settings, block_, [&] { convolutions_->forward(op); });
}

result<void> cpu_operations::compute(const conv2d_pool_backward& op) {
    return convolve(op.settings, block_, [&] { convolutions_->backward(op); });
}

result<void> cpu_operations::compute(const change_block& op) {
    const auto& shape = op.input.shape();
    const std::size_t pixels = shape[2] * shape[3];
    const std::size_t block = std::max(op.input_block, op.output_block);
    const std::size_t groups = shape[0] * shape[1] / block;
    if (op.input_block == op.output_block)
        std::copy_n(floats(op.input), op.input.elements(), floats(op.output));
    else if (op.input_block == 1)
        loops_.interleave(floats(op.input), floats(op.output), groups, block, pixels);
    else if (op.output_block == 1)
        loops_.separate(floats(op.input), floats(op.output), groups, block, pixels);
    else
        return error{errc::usage,
                     "change_block: this back end converts from and to row-major only"};
    return {};
}

} // namespace troupe
