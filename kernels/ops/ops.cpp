#include "kernels/ops/ops.hpp"

#include <optional>
#include <string>

namespace troupe {

namespace {

// Collects the first thing that is wrong with the operands of one operation.
class operand_check {
  public:
    explicit operand_check(std::string_view operation) : operation_{operation} {}

    operand_check& require(bool condition, std::string_view what) {
        if (!condition && !failure_)
            failure_ = error{errc::usage, std::string{operation_} + ": " + std::string{what}};
        return *this;
    }

    operand_check& rank(std::string_view name, const tensor& t, std::size_t rank) {
        if (t.shape().rank() == rank)
            return *this;
        return require(false, std::string{name} + " has shape " + to_string(t.shape()) +
                                  ", expected " + std::to_string(rank) + " dimensions");
    }

    operand_check& is(std::string_view name, const tensor& t, const tensor_shape& shape,
                      data_type type = data_type::float32) {
        if (t && t.shape() == shape && t.type() == type)
            return *this;
        if (!t)
            return require(false, std::string{name} + " is missing");
        return require(false, std::string{name} + " is " + std::string{to_string(t.type())} + " " +
                                  to_string(t.shape()) + ", expected " +
                                  std::string{to_string(type)} + " " + to_string(shape));
    }

    bool ok() const noexcept { return !failure_; }
    result<void> outcome() const { return failure_ ? result<void>{*failure_} : result<void>{}; }
    const error& failure() const { return *failure_; }

  private:
    std::string_view operation_;
    std::optional<error> failure_;
};

constexpr bool divides(std::size_t block, std::size_t channels) noexcept {
    return block > 0 && channels % block == 0;
}

operand_check check_linear(std::string_view operation, const tensor& input, const tensor& weight,
                           const tensor& output) {
    operand_check check{operation};
    check.rank("input", input, 2).rank("weight", weight, 2).rank("output", output, 2);
    if (!check.ok())
        return check;
    check.is("input", input, {input.shape()[0], weight.shape()[1]})
        .is("weight", weight, weight.shape())
        .is("output", output, {input.shape()[0], weight.shape()[0]})
        .require(input.elements() > 0 && weight.elements() > 0, "an operand has no elements");
    return check;
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
        .require(divides(settings.input_block, in[1]),
                 "the input's channel block does not divide its channels")
        .require(divides(settings.output_block, w[0]),
                 "the output's channel block does not divide its channels");
    if (!check.ok())
        return {};
    const tensor_shape output{in[0], w[0],
                              windows_along(in[2], w[2], settings.stride, settings.padding),
                              windows_along(in[3], w[3], settings.stride, settings.padding)};
    check.is("input", input, {in[0], w[1], in[2], in[3]})
        .is("weight", weight, w)
        .require(input.elements() > 0 && weight.elements() > 0 && output.elements() > 0,
                 "an operand has no elements");
    return output;
}

// The shape of what max_pool makes of `input`; empty where the operands do not fit.
tensor_shape check_max_pool(operand_check& check, const max_pool_settings& settings,
                            const tensor_shape& input) {
    check.require(settings.kernel > 0 && settings.stride > 0, "the window's size or stride is 0")
        .require(input.rank() == 4, "images have 4 dimensions")
        .require(input.rank() == 4 && divides(settings.block, input[1]),
                 "the channel block does not divide the channels");
    if (!check.ok())
        return {};
    const tensor_shape output{input[0], input[1],
                              windows_along(input[2], settings.kernel, settings.stride, 0),
                              windows_along(input[3], settings.kernel, settings.stride, 0)};
    check.require(output.elements() > 0, "an operand has no elements");
    return output;
}

template <class Operands>
void check_gradients(operand_check& check, const Operands& o) {
    check.is("weight_gradient", o.weight_gradient, o.weight.shape())
        .is("bias_gradient", o.bias_gradient, {o.weight.shape()[0]});
    if (o.input_gradient != nullptr)
        check.is("input_gradient", *o.input_gradient, o.input.shape());
}

} // namespace

result<void> operations::linear_forward(const linear_forward_operands& o) {
    auto check = check_linear("linear_forward", o.input, o.weight, o.output);
    if (check.ok())
        check.is("bias", o.bias, {o.weight.shape()[0]});
    return check.ok() ? do_linear_forward(o) : check.outcome();
}

result<void> operations::linear_backward(const linear_backward_operands& o) {
    auto check = check_linear("linear_backward", o.input, o.weight, o.output_gradient);
    if (check.ok())
        check_gradients(check, o);
    return check.ok() ? do_linear_backward(o) : check.outcome();
}

result<void> operations::conv2d_forward(const conv2d_forward_operands& o) {
    operand_check check{"conv2d_forward"};
    const tensor_shape output = check_conv2d(check, o.settings, o.input, o.weight);
    if (check.ok())
        check.is("bias", o.bias, {output[1]}).is("output", o.output, output);
    return check.ok() ? do_conv2d_forward(o) : check.outcome();
}

result<void> operations::conv2d_backward(const conv2d_backward_operands& o) {
    operand_check check{"conv2d_backward"};
    const tensor_shape output = check_conv2d(check, o.settings, o.input, o.weight);
    if (check.ok())
        check_gradients(check.is("output_gradient", o.output_gradient, output), o);
    return check.ok() ? do_conv2d_backward(o) : check.outcome();
}

result<void> operations::max_pool_forward(const max_pool_forward_operands& o) {
    operand_check check{"max_pool_forward"};
    const tensor_shape output = check_max_pool(check, o.settings, o.input.shape());
    if (check.ok())
        check.is("input", o.input, o.input.shape())
            .is("output", o.output, output)
            .is("positions", o.positions, output, position_type(o.settings.kernel));
    return check.ok() ? do_max_pool_forward(o) : check.outcome();
}

result<void> operations::max_pool_backward(const max_pool_backward_operands& o) {
    operand_check check{"max_pool_backward"};
    const tensor_shape output = check_max_pool(check, o.settings, o.input_gradient.shape());
    if (check.ok())
        check.is("input_gradient", o.input_gradient, o.input_gradient.shape())
            .is("output_gradient", o.output_gradient, output)
            .is("positions", o.positions, output, position_type(o.settings.kernel));
    return check.ok() ? do_max_pool_backward(o) : check.outcome();
}

result<void> operations::conv2d_pool_forward(const conv2d_pool_forward_operands& o) {
    operand_check check{"conv2d_pool_forward"};
    check.require(o.pool.block == o.settings.output_block,
                  "the channel blocks of the convolution and the pool differ");
    const tensor_shape windows = check_conv2d(check, o.settings, o.input, o.weight);
    const tensor_shape output = check_max_pool(check, o.pool, windows);
    if (check.ok())
        check.is("bias", o.bias, {output[1]})
            .is("output", o.output, output)
            .is("positions", o.positions, output, position_type(o.pool.kernel));
    return check.ok() ? do_conv2d_pool_forward(o) : check.outcome();
}

result<void> operations::conv2d_pool_backward(const conv2d_pool_backward_operands& o) {
    operand_check check{"conv2d_pool_backward"};
    check.require(o.pool.block == o.settings.output_block,
                  "the channel blocks of the convolution and the pool differ");
    const tensor_shape windows = check_conv2d(check, o.settings, o.input, o.weight);
    const tensor_shape output = check_max_pool(check, o.pool, windows);
    if (check.ok()) {
        check.is("output", o.output, output)
            .is("positions", o.positions, output, position_type(o.pool.kernel))
            .is("output_gradient", o.output_gradient, output);
        check_gradients(check, o);
    }
    return check.ok() ? do_conv2d_pool_backward(o) : check.outcome();
}

result<void> operations::relu_forward(const tensor& input, tensor& output) {
    const auto check = operand_check{"relu_forward"}
                           .is("input", input, input.shape())
                           .is("output", output, input.shape());
    return check.ok() ? do_relu_forward(input, output) : check.outcome();
}

result<void> operations::relu_backward(const tensor& output, const tensor& output_gradient,
                                       tensor& input_gradient) {
    const auto check = operand_check{"relu_backward"}
                           .is("output", output, output.shape())
                           .is("output_gradient", output_gradient, output.shape())
                           .is("input_gradient", input_gradient, output.shape());
    return check.ok() ? do_relu_backward(output, output_gradient, input_gradient) : check.outcome();
}

result<softmax_cross_entropy_sums>
operations::softmax_cross_entropy(const softmax_cross_entropy_operands& o) {
    operand_check check{"softmax_cross_entropy"};
    check.rank("logits", o.logits, 2);
    if (!check.ok())
        return check.failure();
    const std::size_t samples = o.logits.shape()[0];
    const std::size_t classes = o.logits.shape()[1];
    check.is("logits", o.logits, o.logits.shape())
        .is("labels", o.labels, {samples}, data_type::int32);
    if (o.gradient != nullptr)
        check.is("gradient", *o.gradient, o.logits.shape());
    if (!check.ok())
        return check.failure();
    const auto labels = o.labels.values<std::int32_t>();
    for (std::size_t s = 0; s < samples; ++s)
        if (labels[s] < 0 || static_cast<std::size_t>(labels[s]) >= classes)
            return error{errc::data, "the label of sample " + std::to_string(s) +
                                         " of the batch is " + std::to_string(labels[s]) +
                                         ", but the model has " + std::to_string(classes) +
                                         " outputs"};
    return do_softmax_cross_entropy(o);
}

result<void> operations::momentum_update(const momentum_update_operands& o) {
    const auto& shape = o.weight.shape();
    const auto check = operand_check{"momentum_update"}
                           .is("weight", o.weight, shape)
                           .is("gradient", o.gradient, shape)
                           .is("velocity", o.velocity, shape)
                           .is("new_weight", o.new_weight, shape)
                           .is("new_velocity", o.new_velocity, shape);
    return check.ok() ? do_momentum_update(o) : check.outcome();
}

result<void> operations::add_scaled(const tensor& x, float factor, const tensor& y,
                                    tensor& result) {
    const auto check = operand_check{"add_scaled"}
                           .is("x", x, x.shape())
                           .is("y", y, x.shape())
                           .is("result", result, x.shape());
    return check.ok() ? do_add_scaled(x, factor, y, result) : check.outcome();
}

result<void> operations::fill(tensor& output, float value) {
    const auto check = operand_check{"fill"}.is("output", output, output.shape());
    return check.ok() ? do_fill(output, value) : check.outcome();
}

result<void> operations::change_block(const tensor& input, std::size_t input_block, tensor& output,
                                      std::size_t output_block) {
    operand_check check{"change_block"};
    check.rank("input", input, 4);
    if (check.ok())
        check.is("input", input, input.shape())
            .is("output", output, input.shape())
            .require(divides(input_block, input.shape()[1]) &&
                         divides(output_block, input.shape()[1]),
                     "a channel block does not divide the channels");
    return check.ok() ? do_change_block(input, input_block, output, output_block) : check.outcome();
}

} // namespace troupe
