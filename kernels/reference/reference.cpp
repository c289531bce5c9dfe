#include "kernels/reference/reference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace troupe {

namespace {

// Calls f(sample, out channel, y, x, in channel, row, column, input y, input x) for every product
// of a convolution, skipping those with padding.
template <class Function>
void for_each_product(const conv2d_settings& settings, const tensor_shape& in,
                      const tensor_shape& weight, const tensor_shape& out, std::size_t sample,
                      std::size_t o, Function f) {
    for (std::size_t y = 0; y < out[2]; ++y)
        for (std::size_t x = 0; x < out[3]; ++x)
            for (std::size_t i = 0; i < in[1]; ++i)
                for (std::size_t r = 0; r < weight[2]; ++r)
                    for (std::size_t c = 0; c < weight[3]; ++c) {
                        // Unsigned wrap-around makes rows above the image larger than its height.
                        const std::size_t in_y = y * settings.stride + r - settings.padding;
                        const std::size_t in_x = x * settings.stride + c - settings.padding;
                        if (in_y < in[2] && in_x < in[3])
                            f(y, x, ((o * in[1] + i) * weight[2] + r) * weight[3] + c,
                              std::array{sample, i, in_y, in_x});
                    }
}

std::size_t at(const image_layout& layout, const std::array<std::size_t, 4>& i) {
    return layout.offset(i[0], i[1], i[2], i[3]);
}

std::vector<double> zeros(std::size_t count) {
    return std::vector<double>(count, 0.0);
}

void round_into(const std::vector<double>& sums, tensor& output) {
    std::ranges::transform(sums, output.mutable_values<float>().begin(),
                           [](double x) { return static_cast<float>(x); });
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

class reference_operations final : public operations {
  public:
    std::string_view name() const noexcept override { return "reference"; }
    std::size_t channel_block(std::size_t) const noexcept override { return 1; }

  private:
    result<void> do_linear_forward(const linear_forward_operands& operands) override;
    result<void> do_linear_backward(const linear_backward_operands& operands) override;
    result<void> do_conv2d_forward(const conv2d_forward_operands& operands) override;
    result<void> do_conv2d_backward(const conv2d_backward_operands& operands) override;
    result<void> do_max_pool_forward(const max_pool_forward_operands& operands) override;
    result<void> do_max_pool_backward(const max_pool_backward_operands& operands) override;
    result<void> do_conv2d_pool_forward(const conv2d_pool_forward_operands& operands) override;
    result<void> do_conv2d_pool_backward(const conv2d_pool_backward_operands& operands) override;
    result<void> do_relu_forward(const tensor& input, tensor& output) override;
    result<void> do_relu_backward(const tensor& output, const tensor& output_gradient,
                                  tensor& input_gradient) override;
    result<softmax_cross_entropy_sums>
    do_softmax_cross_entropy(const softmax_cross_entropy_operands& operands) override;
    result<void> do_momentum_update(const momentum_update_operands& operands) override;
    result<void> do_add_scaled(const tensor& x, float factor, const tensor& y,
                               tensor& result) override;
    result<void> do_fill(tensor& output, float value) override;
    result<void> do_change_block(const tensor& input, std::size_t input_block, tensor& output,
                                 std::size_t output_block) override;

    // Memory for the output of a convolution.
    tensor convolved(const conv2d_settings& settings, const tensor& input, const tensor& weight);

    memory_pool scratch_{~std::uint64_t{0}}; // no bound of its own: its callers' cases are small
};

result<void> reference_operations::do_linear_forward(const linear_forward_operands& operands) {
    const std::size_t samples = operands.input.shape()[0];
    const std::size_t ins = operands.weight.shape()[1];
    const std::size_t outs = operands.weight.shape()[0];
    const auto input = operands.input.values<float>();
    const auto weight = operands.weight.values<float>();
    const auto output = operands.output.mutable_values<float>();
    for (std::size_t s = 0; s < samples; ++s)
        for (std::size_t o = 0; o < outs; ++o) {
            double sum = operands.bias.values<float>()[o];
            for (std::size_t i = 0; i < ins; ++i)
                sum += double{input[s * ins + i]} * weight[o * ins + i];
            output[s * outs + o] = static_cast<float>(sum);
        }
    return {};
}

result<void> reference_operations::do_linear_backward(const linear_backward_operands& operands) {
    const std::size_t samples = operands.input.shape()[0];
    const std::size_t ins = operands.weight.shape()[1];
    const std::size_t outs = operands.weight.shape()[0];
    const auto input = operands.input.values<float>();
    const auto weight = operands.weight.values<float>();
    const auto gradient = operands.output_gradient.values<float>();
    auto to_input = zeros(samples * ins);
    auto to_weight = zeros(outs * ins);
    auto to_bias = zeros(outs);
    for (std::size_t s = 0; s < samples; ++s)
        for (std::size_t o = 0; o < outs; ++o) {
            const double g = gradient[s * outs + o];
            to_bias[o] += g;
            for (std::size_t i = 0; i < ins; ++i) {
                to_weight[o * ins + i] += g * input[s * ins + i];
                to_input[s * ins + i] += g * weight[o * ins + i];
            }
        }
    round_into(to_weight, operands.weight_gradient);
    round_into(to_bias, operands.bias_gradient);
    if (operands.input_gradient != nullptr)
        round_into(to_input, *operands.input_gradient);
    return {};
}

result<void> reference_operations::do_conv2d_forward(const conv2d_forward_operands& operands) {
    const auto& settings = operands.settings;
    const auto& out = operands.output.shape();
    const image_layout input_at{operands.input.shape(), settings.input_block};
    const image_layout output_at{out, settings.output_block};
    const auto input = operands.input.values<float>();
    const auto weight = operands.weight.values<float>();
    const auto output = operands.output.mutable_values<float>();
    for (std::size_t s = 0; s < out[0]; ++s)
        for (std::size_t o = 0; o < out[1]; ++o) {
            std::vector<double> sums(out[2] * out[3], operands.bias.values<float>()[o]);
            for_each_product(settings, operands.input.shape(), operands.weight.shape(), out, s, o,
                             [&](std::size_t y, std::size_t x, std::size_t w, const auto& i) {
                                 sums[y * out[3] + x] += double{weight[w]} * input[at(input_at, i)];
                             });
            for (std::size_t y = 0; y < out[2]; ++y)
                for (std::size_t x = 0; x < out[3]; ++x) {
                    output[output_at.offset(s, o, y, x)] = static_cast<float>(sums[y * out[3] + x]);
                }
        }
    return {};
}

result<void> reference_operations::do_conv2d_backward(const conv2d_backward_operands& operands) {
    const auto& settings = operands.settings;
    const auto& out = operands.output_gradient.shape();
    const image_layout input_at{operands.input.shape(), settings.input_block};
    const image_layout output_at{out, settings.output_block};
    const auto input = operands.input.values<float>();
    const auto weight = operands.weight.values<float>();
    const auto gradient = operands.output_gradient.values<float>();
    auto to_input = zeros(operands.input.elements());
    auto to_weight = zeros(operands.weight.elements());
    auto to_bias = zeros(out[1]);
    for (std::size_t s = 0; s < out[0]; ++s)
        for (std::size_t o = 0; o < out[1]; ++o) {
            for (std::size_t y = 0; y < out[2]; ++y)
                for (std::size_t x = 0; x < out[3]; ++x)
                    to_bias[o] += gradient[output_at.offset(s, o, y, x)];
            for_each_product(settings, operands.input.shape(), operands.weight.shape(), out, s, o,
                             [&](std::size_t y, std::size_t x, std::size_t w, const auto& i) {
                                 const double g = gradient[output_at.offset(s, o, y, x)];
                                 to_weight[w] += g * input[at(input_at, i)];
                                 to_input[at(input_at, i)] += g * weight[w];
                             });
        }
    round_into(to_weight, operands.weight_gradient);
    round_into(to_bias, operands.bias_gradient);
    if (operands.input_gradient != nullptr)
        round_into(to_input, *operands.input_gradient);
    return {};
}

result<void> reference_operations::do_max_pool_forward(const max_pool_forward_operands& operands) {
    const auto& settings = operands.settings;
    const auto& out = operands.output.shape();
    const image_layout input_at{operands.input.shape(), settings.block};
    const image_layout output_at{out, settings.block};
    const auto input = operands.input.values<float>();
    for (std::size_t s = 0; s < out[0]; ++s)
        for (std::size_t channel = 0; channel < out[1]; ++channel)
            for (std::size_t y = 0; y < out[2]; ++y)
                for (std::size_t x = 0; x < out[3]; ++x) {
                    const auto element = [&](std::size_t p) {
                        return input[input_at.offset(s, channel,
                                                     y * settings.stride + p / settings.kernel,
                                                     x * settings.stride + p % settings.kernel)];
                    };
                    std::size_t largest = 0;
                    for (std::size_t p = 1; p < settings.kernel * settings.kernel; ++p)
                        if (element(p) > element(largest))
                            largest = p;
                    const std::size_t i = output_at.offset(s, channel, y, x);
                    operands.output.mutable_values<float>()[i] = element(largest);
                    set_position(operands.positions, i, largest);
                }
    return {};
}

result<void>
reference_operations::do_max_pool_backward(const max_pool_backward_operands& operands) {
    const auto& settings = operands.settings;
    const auto& out = operands.output_gradient.shape();
    const image_layout input_at{operands.input_gradient.shape(), settings.block};
    const image_layout output_at{out, settings.block};
    const auto to_input = operands.input_gradient.mutable_values<float>();
    std::ranges::fill(to_input, 0.f);
    for (std::size_t s = 0; s < out[0]; ++s)
        for (std::size_t channel = 0; channel < out[1]; ++channel)
            for (std::size_t y = 0; y < out[2]; ++y)
                for (std::size_t x = 0; x < out[3]; ++x) {
                    const std::size_t i = output_at.offset(s, channel, y, x);
                    const std::size_t p = position(operands.positions, i);
                    to_input[input_at.offset(s, channel, y * settings.stride + p / settings.kernel,
                                             x * settings.stride + p % settings.kernel)] +=
                        operands.output_gradient.values<float>()[i];
                }
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

result<void> reference_operations::do_conv2d_pool_forward(const conv2d_pool_forward_operands& o) {
    tensor between = convolved(o.settings, o.input, o.weight);
    if (auto done = conv2d_forward({o.settings, o.input, o.weight, o.bias, between}); !done)
        return done;
    if (auto done = relu_forward(between, between); !done)
        return done;
    return max_pool_forward({o.pool, between, o.output, o.positions});
}

result<void> reference_operations::do_conv2d_pool_backward(const conv2d_pool_backward_operands& o) {
    // An output of 0 means that relu let nothing through its window.
    tensor gradient = tensor::allocate(scratch_, data_type::float32, o.output.shape()).value();
    if (auto done = relu_backward(o.output, o.output_gradient, gradient); !done)
        return done;
    tensor between = convolved(o.settings, o.input, o.weight);
    if (auto done = max_pool_backward({o.pool, gradient, o.positions, between}); !done)
        return done;
    return conv2d_backward({o.settings, o.input, o.weight, between, o.input_gradient,
                            o.weight_gradient, o.bias_gradient});
}

result<void> reference_operations::do_relu_forward(const tensor& input, tensor& output) {
    std::ranges::transform(input.values<float>(), output.mutable_values<float>().begin(),
                           [](float x) { return x < 0 ? 0 : x; });
    return {};
}

result<void> reference_operations::do_relu_backward(const tensor& output,
                                                    const tensor& output_gradient,
                                                    tensor& input_gradient) {
    std::ranges::transform(output.values<float>(), output_gradient.values<float>(),
                           input_gradient.mutable_values<float>().begin(),
                           [](float y, float g) { return y > 0 ? g : 0; });
    return {};
}

result<softmax_cross_entropy_sums>
reference_operations::do_softmax_cross_entropy(const softmax_cross_entropy_operands& operands) {
    const std::size_t samples = operands.logits.shape()[0];
    const std::size_t classes = operands.logits.shape()[1];
    softmax_cross_entropy_sums sums;
    for (std::size_t s = 0; s < samples; ++s) {
        const auto row = operands.logits.values<float>().subspan(s * classes, classes);
        const auto label = static_cast<std::size_t>(operands.labels.values<std::int32_t>()[s]);
        // Shifted by the largest, so that exp does not overflow.
        const double largest = *std::ranges::max_element(row);
        double total = 0;
        for (float x : row)
            total += std::exp(x - largest);
        sums.loss += std::log(total) + largest - row[label];
        bool correct = true; // written so that a NaN is never correct
        for (std::size_t c = 0; c < classes; ++c)
            correct = correct && (c < label ? row[c] < row[label] : row[c] <= row[label]);
        sums.correct += correct;
        if (operands.gradient != nullptr)
            for (std::size_t c = 0; c < classes; ++c)
                operands.gradient->mutable_values<float>()[s * classes + c] = static_cast<float>(
                    operands.scale * (std::exp(row[c] - largest) / total - (c == label ? 1 : 0)));
    }
    return sums;
}

result<void> reference_operations::do_momentum_update(const momentum_update_operands& operands) {
    for (std::size_t i = 0; i < operands.weight.elements(); ++i) {
        const float velocity = operands.momentum * operands.velocity.values<float>()[i] +
                               operands.gradient.values<float>()[i];
        operands.new_weight.mutable_values<float>()[i] =
            operands.weight.values<float>()[i] - operands.learning_rate * velocity;
        operands.new_velocity.mutable_values<float>()[i] = velocity;
    }
    return {};
}

result<void> reference_operations::do_add_scaled(const tensor& x, float factor, const tensor& y,
                                                 tensor& result) {
    std::ranges::transform(x.values<float>(), y.values<float>(),
                           result.mutable_values<float>().begin(),
                           [factor](float a, float b) { return a + factor * b; });
    return {};
}

result<void> reference_operations::do_fill(tensor& output, float value) {
    std::ranges::fill(output.mutable_values<float>(), value);
    return {};
}

result<void> reference_operations::do_change_block(const tensor& input, std::size_t input_block,
                                                   tensor& output, std::size_t output_block) {
    const auto& shape = input.shape();
    const image_layout input_at{shape, input_block};
    const image_layout output_at{shape, output_block};
    for (std::size_t s = 0; s < shape[0]; ++s)
        for (std::size_t c = 0; c < shape[1]; ++c)
            for (std::size_t y = 0; y < shape[2]; ++y)
                for (std::size_t x = 0; x < shape[3]; ++x)
                    output.mutable_values<float>()[output_at.offset(s, c, y, x)] =
                        input.values<float>()[input_at.offset(s, c, y, x)];
    return {};
}

} // namespace

std::unique_ptr<operations> make_reference_operations() {
    return std::make_unique<reference_operations>();
}

} // namespace troupe
