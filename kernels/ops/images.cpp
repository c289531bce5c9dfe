#include "kernels/ops/images.hpp"

#include <algorithm>

#include "kernels/ops/operand_check.hpp"

namespace troupe {

namespace {

constexpr bool divides(std::size_t block, std::size_t channels) noexcept {
    return block > 0 && channels % block == 0;
}

// The shape of a convolution's output; empty where the operands do not fit.
tensor_shape check_conv2d(operand_check& check, const conv2d_settings& settings,
                          const tensor& input, const tensor& weight) {
    check.rank("input", input, 4).rank("weight", weight, 4);
    if (!check.ok())
        return {};
    const auto& in = input.shape();
    const auto& w = weight.shape();
    check.require(settings.stride > 0, "the stride is 0")
        .require(divides(settings.groups, in[1]) && divides(settings.groups, w[0]),
                 "the groups do not divide the channels")
        .require(divides(settings.input_block, in[1]),
                 "the input's channel block does not divide its channels")
        .require(divides(settings.output_block, w[0]),
                 "the output's channel block does not divide its channels");
    if (!check.ok())
        return {};
    const tensor_shape output{in[0], w[0],
                              windows_along(in[2], w[2], settings.stride, settings.padding),
                              windows_along(in[3], w[3], settings.stride, settings.padding)};
    check.is("input", input, {in[0], w[1] * settings.groups, in[2], in[3]})
        .is("weight", weight, w)
        .require(input.elements() > 0 && weight.elements() > 0 && output.elements() > 0,
                 "an operand has no elements");
    return output;
}

// The shape of what a pool makes of `input`; empty where the operands do not fit.
tensor_shape check_pool(operand_check& check, const average_pool_settings& settings,
                        const tensor_shape& input) {
    check
        .require(settings.kernel_height > 0 && settings.kernel_width > 0 && settings.stride > 0,
                 "the window's size or stride is 0")
        .require(2 * settings.padding <= std::min(settings.kernel_height, settings.kernel_width),
                 "the padding is more than half the window")
        .require(input.rank() == 4, "images have 4 dimensions")
        .require(input.rank() == 4 && divides(settings.block, input[1]),
                 "the channel block does not divide the channels");
    if (!check.ok())
        return {};
    const tensor_shape output{
        input[0], input[1],
        windows_along(input[2], settings.kernel_height, settings.stride, settings.padding),
        windows_along(input[3], settings.kernel_width, settings.stride, settings.padding)};
    check.require(output.elements() > 0, "an operand has no elements");
    return output;
}

// The shape of what max_pool makes of `input`; empty where the operands do not fit.
tensor_shape check_max_pool(operand_check& check, const max_pool_settings& settings,
                            const tensor_shape& input) {
    return check_pool(check,
                      {.kernel_height = settings.kernel,
                       .kernel_width = settings.kernel,
                       .stride = settings.stride,
                       .padding = settings.padding,
                       .block = settings.block},
                      input);
}

} // namespace

result<void> conv2d_forward::check() const {
    operand_check check{"conv2d_forward"};
    const tensor_shape expected = check_conv2d(check, settings, input, weight);
    if (check.ok())
        check.is("output", output, expected);
    if (check.ok() && bias != nullptr)
        check.is("bias", *bias, {expected[1]});
    return check.outcome();
}

result<void> conv2d_backward::check() const {
    operand_check check{"conv2d_backward"};
    const tensor_shape expected = check_conv2d(check, settings, input, weight);
    if (check.ok())
        check_weight_gradients(check.is("output_gradient", output_gradient, expected), *this,
                               &weight_gradient);
    return check.outcome();
}

result<void> max_pool_forward::check() const {
    operand_check check{"max_pool_forward"};
    const tensor_shape expected = check_max_pool(check, settings, input.shape());
    if (check.ok())
        check.is("input", input, input.shape())
            .is("output", output, expected)
            .is("positions", positions, expected, position_type(settings.kernel));
    return check.outcome();
}

result<void> max_pool_backward::check() const {
    operand_check check{"max_pool_backward"};
    const tensor_shape expected = check_max_pool(check, settings, input_gradient.shape());
    if (check.ok())
        check.is("input_gradient", input_gradient, input_gradient.shape())
            .is("output_gradient", output_gradient, expected)
            .is("positions", positions, expected, position_type(settings.kernel));
    return check.outcome();
}

result<void> conv2d_pool_forward::check() const {
    operand_check check{"conv2d_pool_forward"};
    check.require(pool.block == settings.output_block,
                  "the channel blocks of the convolution and the pool differ");
    const tensor_shape windows = check_conv2d(check, settings, input, weight);
    const tensor_shape expected = check_max_pool(check, pool, windows);
    if (check.ok())
        check.is("output", output, expected)
            .is("positions", positions, expected, position_type(pool.kernel));
    if (check.ok() && bias != nullptr)
        check.is("bias", *bias, {expected[1]});
    return check.outcome();
}

result<void> conv2d_pool_backward::check() const {
    operand_check check{"conv2d_pool_backward"};
    check.require(pool.block == settings.output_block,
                  "the channel blocks of the convolution and the pool differ");
    const tensor_shape windows = check_conv2d(check, settings, input, weight);
    const tensor_shape expected = check_max_pool(check, pool, windows);
    if (check.ok()) {
        check.is("output", output, expected)
            .is("positions", positions, expected, position_type(pool.kernel))
            .is("output_gradient", output_gradient, expected);
        check_weight_gradients(check, *this, &weight_gradient);
    }
    return check.outcome();
}

result<void> average_pool_forward::check() const {
    operand_check check{"average_pool_forward"};
    const tensor_shape expected = check_pool(check, settings, input.shape());
    if (check.ok())
        check.is("input", input, input.shape()).is("output", output, expected);
    return check.outcome();
}

result<void> average_pool_backward::check() const {
    operand_check check{"average_pool_backward"};
    const tensor_shape expected = check_pool(check, settings, input_gradient.shape());
    if (check.ok())
        check.is("input_gradient", input_gradient, input_gradient.shape())
            .is("output_gradient", output_gradient, expected);
    return check.outcome();
}

result<void> change_block::check() const {
    operand_check check{"change_block"};
    check.rank("input", input, 4);
    if (check.ok())
        check.is("input", input, input.shape())
            .is("output", output, input.shape())
            .require(divides(input_block, input.shape()[1]) &&
                         divides(output_block, input.shape()[1]),
                     "a channel block does not divide the channels");
    return check.outcome();
}

} // namespace troupe
