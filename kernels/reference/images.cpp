#include <algorithm>
#include <array>
#include <optional>

#include "kernels/reference/reference_operations.hpp"

namespace troupe {

namespace {

// Calls f(sample, out channel, y, x, in channel, row, column, input y, input x) for every product
// of a convolution, skipping those with padding.
template <class Function>
void for_each_product(const conv2d_settings& settings, const tensor_shape& in,
                      const tensor_shape& weight, const tensor_shape& out, std::size_t sample,
                      std::size_t o, Function f) {
    const std::size_t first = o / (out[1] / settings.groups) * weight[1]; // of the group's inputs
    for (std::size_t y = 0; y < out[2]; ++y)
        for (std::size_t x = 0; x < out[3]; ++x)
            for (std::size_t i = 0; i < weight[1]; ++i)
                for (std::size_t r = 0; r < weight[2]; ++r)
                    for (std::size_t c = 0; c < weight[3]; ++c) {
                        // Unsigned wrap-around makes rows above the image larger than its height.
                        const std::size_t in_y = y * settings.stride + r - settings.padding;
                        const std::size_t in_x = x * settings.stride + c - settings.padding;
                        if (in_y < in[2] && in_x < in[3])
                            f(y, x, ((o * weight[1] + i) * weight[2] + r) * weight[3] + c,
                              std::array{sample, first + i, in_y, in_x});
                    }
}

std::size_t at(const image_layout& layout, const std::array<std::size_t, 4>& i) {
    return layout.offset(i[0], i[1], i[2], i[3]);
}

// Calls f(window, pixel) with the indices of every window of an average_pool and of each of its pixels in the image.
template <class Function>
void for_each_averaged(const average_pool_settings& settings, const image_layout& input,
                       const tensor_shape& out, Function f) {
    for (std::size_t s = 0; s < out[0]; ++s)
        for (std::size_t channel = 0; channel < out[1]; ++channel)
            for (std::size_t y = 0; y < out[2]; ++y)
                for (std::size_t x = 0; x < out[3]; ++x)
                    for (std::size_t r = 0; r < settings.kernel_height; ++r)
                        for (std::size_t c = 0; c < settings.kernel_width; ++c) {
                            const std::size_t in_y = y * settings.stride + r - settings.padding;
                            const std::size_t in_x = x * settings.stride + c - settings.padding;
                            if (in_y < input.height && in_x < input.width)
                                f(std::array{s, channel, y, x}, std::array{s, channel, in_y, in_x});
                        }
}

std::size_t position(const tensor& positions, std::size_t i) {
    return positions.type() == data_type::uint8
               ? positions.values<std::uint8_t>()[i]
               : static_cast<std::size_t>(positions.values<std::int32_t>()[i]);
}

void set_position(tensor& positions, std::size_t i, std::size_t value) {
    if (positions.type() == data_type::uint8)
        positions.mutable_values<std::uint8_t>()[i] = static_cast<std::uint8_t>(value);
    else
        positions.mutable_values<std::int32_t>()[i] = static_cast<std::int32_t>(value);
}

} // namespace

result<void> reference_operations::compute(const conv2d_forward& op) {
    const auto& settings = op.settings;
    const auto& out = op.output.shape();
    const image_layout input_at{op.input.shape(), settings.input_block};
    const image_layout output_at{out, settings.output_block};
    const auto input = op.input.values<float>();
    const auto weight = op.weight.values<float>();
    const auto output = op.output.mutable_values<float>();
    const auto rounded = [&](float x) { return factor(double{x}, settings.products); };
    for (std::size_t s = 0; s < out[0]; ++s)
        for (std::size_t o = 0; o < out[1]; ++o) {
            std::vector<double> sums(out[2] * out[3],
                                     op.bias != nullptr ? op.bias->values<float>()[o] : 0);
            for_each_product(settings, op.input.shape(), op.weight.shape(), out, s, o,
                             [&](std::size_t y, std::size_t x, std::size_t w, const auto& i) {
                                 sums[y * out[3] + x] +=
                                     rounded(weight[w]) * rounded(input[at(input_at, i)]);
                             });
            for (std::size_t y = 0; y < out[2]; ++y)
                for (std::size_t x = 0; x < out[3]; ++x) {
                    output[output_at.offset(s, o, y, x)] = static_cast<float>(sums[y * out[3] + x]);
                }
        }
    return {};
}

result<void> reference_operations::compute(const conv2d_backward& op) {
    const auto& settings = op.settings;
    const auto& out = op.output_gradient.shape();
    const image_layout input_at{op.input.shape(), settings.input_block};
    const image_layout output_at{out, settings.output_block};
    const auto input = op.input.values<float>();
    const auto weight = op.weight.values<float>();
    const auto gradient = op.output_gradient.values<float>();
    auto to_input = zeros(op.input.elements());
    auto to_weight = zeros(op.weight.elements());
    auto to_bias = zeros(out[1]);
    const auto rounded = [&](float x) { return factor(double{x}, settings.products); };
    for (std::size_t s = 0; s < out[0]; ++s)
        for (std::size_t o = 0; o < out[1]; ++o) {
            for (std::size_t y = 0; y < out[2]; ++y)
                for (std::size_t x = 0; x < out[3]; ++x)
                    to_bias[o] += rounded(gradient[output_at.offset(s, o, y, x)]);
            for_each_product(settings, op.input.shape(), op.weight.shape(), out, s, o,
                             [&](std::size_t y, std::size_t x, std::size_t w, const auto& i) {
                                 const double g = rounded(gradient[output_at.offset(s, o, y, x)]);
                                 to_weight[w] += g * rounded(input[at(input_at, i)]);
                                 to_input[at(input_at, i)] += g * rounded(weight[w]);
                             });
        }
    round_into(to_weight, op.weight_gradient);
    if (op.bias_gradient != nullptr)
        round_into(to_bias, *op.bias_gradient);
    if (op.input_gradient != nullptr)
        round_into(to_input, *op.input_gradient);
    return {};
}

result<void> reference_operations::compute(const max_pool_forward& op) {
    const auto& settings = op.settings;
    const auto& out = op.output.shape();
    const image_layout input_at{op.input.shape(), settings.block};
    const image_layout output_at{out, settings.block};
    const auto input = op.input.values<float>();
    for (std::size_t s = 0; s < out[0]; ++s)
        for (std::size_t channel = 0; channel < out[1]; ++channel)
            for (std::size_t y = 0; y < out[2]; ++y)
                for (std::size_t x = 0; x < out[3]; ++x) {
                    std::optional<std::size_t> largest; // position of
                    float value = 0;
                    for (std::size_t p = 0; p < settings.kernel * settings.kernel; ++p) {
                        // Unsigned wrap-around makes rows above the image larger than its height.
                        const std::size_t in_y =
                            y * settings.stride + p / settings.kernel - settings.padding;
                        const std::size_t in_x =
                            x * settings.stride + p % settings.kernel - settings.padding;
                        if (in_y >= input_at.height || in_x >= input_at.width)
                            continue;
                        const float v = input[input_at.offset(s, channel, in_y, in_x)];
                        if (!largest || v > value) {
                            largest = p;
                            value = v;
                        }
                    }
                    const std::size_t i = output_at.offset(s, channel, y, x);
                    op.output.mutable_values<float>()[i] = value;
                    set_position(op.positions, i, *largest);
                }
    return {};
}

result<void> reference_operations::compute(const max_pool_backward& op) {
    const auto& settings = op.settings;
    const auto& out = op.output_gradient.shape();
    const image_layout input_at{op.input_gradient.shape(), settings.block};
    const image_layout output_at{out, settings.block};
    const auto to_input = op.input_gradient.mutable_values<float>();
    std::ranges::fill(to_input, 0.f);
    for (std::size_t s = 0; s < out[0]; ++s)
        for (std::size_t channel = 0; channel < out[1]; ++channel)
            for (std::size_t y = 0; y < out[2]; ++y)
                for (std::size_t x = 0; x < out[3]; ++x) {
                    const std::size_t i = output_at.offset(s, channel, y, x);
                    const std::size_t p = position(op.positions, i);
                    to_input[input_at.offset(
                        s, channel, y * settings.stride + p / settings.kernel - settings.padding,
                        x * settings.stride + p % settings.kernel - settings.padding)] +=
                        op.output_gradient.values<float>()[i];
                }
    return {};
}

result<void> reference_operations::compute(const average_pool_forward& op) {
    const auto& shape = op.output.shape();
    const image_layout input_at{op.input.shape(), op.settings.block};
    const image_layout output_at{shape, op.settings.block};
    std::vector<double> sums = zeros(op.output.elements());
    for_each_averaged(op.settings, input_at, shape, [&](const auto& window, const auto& pixel) {
        sums[at(output_at, window)] += double{op.input.values<float>()[at(input_at, pixel)]};
    });
    for (double& sum : sums)
        sum /= static_cast<double>(op.settings.kernel_height * op.settings.kernel_width);
    round_into(sums, op.output);
    return {};
}

result<void> reference_operations::compute(const average_pool_backward& op) {
    const auto& shape = op.output_gradient.shape();
    const image_layout input_at{op.input_gradient.shape(), op.settings.block};
    const image_layout output_at{shape, op.settings.block};
    std::vector<double> sums = zeros(op.input_gradient.elements());
    for_each_averaged(op.settings, input_at, shape, [&](const auto& window, const auto& pixel) {
        sums[at(input_at, pixel)] +=
            double{op.output_gradient.values<float>()[at(output_at, window)]} /
            static_cast<double>(op.settings.kernel_height * op.settings.kernel_width);
    });
    round_into(sums, op.input_gradient);
    return {};
}

tensor reference_operations::convolved(const conv2d_settings& settings, const tensor& input,
                                       const tensor& weight) {
    const tensor_shape shape{
        input.shape()[0], weight.shape()[0],
        windows_along(input.shape()[2], weight.shape()[2], settings.stride, settings.padding),
        windows_along(input.shape()[3], weight.shape()[3], settings.stride, settings.padding)};
    return tensor::allocate(scratch_, data_type::float32, shape).value();
}

result<void> reference_operations::compute(const conv2d_pool_forward& op) {
    tensor between = convolved(op.settings, op.input, op.weight);
    if (auto done = run(conv2d_forward{op.settings, op.input, op.weight, op.bias, between}); !done)
        return done;
    if (auto done = run(pointwise_forward{pointwise::relu, between, between}); !done)
        return done;
    return run(max_pool_forward{op.pool, between, op.output, op.positions});
}

result<void> reference_operations::compute(const conv2d_pool_backward& op) {
    // An output of 0 means that relu let nothing through its window.
    tensor gradient = tensor::allocate(scratch_, data_type::float32, op.output.shape()).value();
    if (auto done =
            run(pointwise_backward{pointwise::relu, op.output, op.output_gradient, gradient});
        !done)
        return done;
    tensor between = convolved(op.settings, op.input, op.weight);
    if (auto done = run(max_pool_backward{op.pool, gradient, op.positions, between}); !done)
        return done;
    return run(conv2d_backward{op.settings, op.input, op.weight, between, op.input_gradient,
                               op.weight_gradient, op.bias_gradient});
}

result<void> reference_operations::compute(const change_block& op) {
    const auto& shape = op.input.shape();
    const image_layout input_at{shape, op.input_block};
    const image_layout output_at{shape, op.output_block};
    for (std::size_t s = 0; s < shape[0]; ++s)
        for (std::size_t c = 0; c < shape[1]; ++c)
            for (std::size_t y = 0; y < shape[2]; ++y)
                for (std::size_t x = 0; x < shape[3]; ++x)
                    op.output.mutable_values<float>()[output_at.offset(s, c, y, x)] =
                        op.input.values<float>()[input_at.offset(s, c, y, x)];
    return {};
}

} // namespace troupe
