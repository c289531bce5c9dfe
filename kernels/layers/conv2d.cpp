#include "kernels/layers/kinds.hpp"

namespace troupe {

namespace {

class conv2d_layer final : public layer {
  public:
    conv2d_layer(const tensor_shape& input, const tensor_shape& output,
                 proto::Conv2d::Reader description)
        : input_{input}, output_{output}, kernel_{description.getKernel()} {
        settings_.stride = description.getStride();
        settings_.padding = description.getPadding();
    }

    std::string_view kind() const noexcept override { return "conv2d"; }
    tensor_shape output_shape() const noexcept override { return output_; }
    double forward_flops() const noexcept override {
        return 2.0 * static_cast<double>(output_.elements()) * static_cast<double>(fan_in());
    }
    double backward_flops(bool want_input_gradient) const noexcept override {
        return forward_flops() * (want_input_gradient ? 2 : 1);
    }
    std::vector<parameter_info> parameters() const override {
        return {{"weight", {output_[0], input_[0], kernel_, kernel_}, fan_in(), false},
                {"bias", {output_[0]}, fan_in(), true}};
    }

    result<activation> forward(compute_context& context, std::span<const tensor> parameters,
                               activation input, saved_layer& saved) const override {
        const conv2d_settings settings = settings_for(context.ops);
        auto blocked = in_block(context, std::move(input), settings.input_block);
        if (!blocked)
            return blocked;
        const std::size_t samples = blocked->values.shape()[0];
        auto output =
            tensor::allocate(context.memory, data_type::float32, batch_of(samples, output_));
        if (!output)
            return output.failure();
        auto done = context.ops.conv2d_forward({.settings = settings,
                                                .input = blocked->values,
                                                .weight = parameters[0],
                                                .bias = parameters[1],
                                                .output = *output});
        if (!done)
            return done.failure();
        saved.tensors = {std::move(blocked->values)};
        return activation{std::move(*output), settings.output_block};
    }

    result<gradients> backward(compute_context& context, backward_pass pass) const override {
        const conv2d_settings settings = settings_for(context.ops);
        auto blocked = in_block(context, std::move(pass.output_gradient), settings.output_block);
        if (!blocked)
            return blocked.failure();
        const tensor& input = pass.saved.tensors[0];
        tensor to_input;
        if (pass.want_input_gradient) {
            auto memory = tensor::allocate(context.memory, data_type::float32, input.shape());
            if (!memory)
                return memory.failure();
            to_input = std::move(*memory);
        }
        auto to_weight =
            tensor::allocate(context.memory, data_type::float32, pass.parameters[0].shape());
        auto to_bias =
            tensor::allocate(context.memory, data_type::float32, pass.parameters[1].shape());
        if (!to_weight || !to_bias)
            return to_weight ? to_bias.failure() : to_weight.failure();
        auto done = context.ops.conv2d_backward(
            {.settings = settings,
             .input = input,
             .weight = pass.parameters[0],
             .output_gradient = blocked->values,
             .input_gradient = pass.want_input_gradient ? &to_input : nullptr,
             .weight_gradient = *to_weight,
             .bias_gradient = *to_bias});
        if (!done)
            return done.failure();
        return gradients{{std::move(to_input), settings.input_block},
                         {std::move(*to_weight), std::move(*to_bias)}};
    }

  private:
    std::size_t fan_in() const noexcept { return input_[0] * kernel_ * kernel_; }

    conv2d_settings settings_for(const operations& ops) const noexcept {
        conv2d_settings settings = settings_;
        settings.input_block = ops.channel_block(input_[0]);
        settings.output_block = ops.channel_block(output_[0]);
        return settings;
    }

    tensor_shape input_;
    tensor_shape output_;
    std::size_t kernel_;
    conv2d_settings settings_;
};

} // namespace

result<std::shared_ptr<const layer>> make_conv2d(proto::Conv2d::Reader description,
                                                 const tensor_shape& input) {
    const std::size_t kernel = description.getKernel();
    const std::size_t stride = description.getStride();
    const std::size_t padding = description.getPadding();
    if (input.rank() != 3)
        return error{errc::usage,
                     "needs an input of [channels, height, width], but gets " + to_string(input)};
    if (description.getOut() == 0 || kernel == 0 || stride == 0)
        return error{errc::usage, "out, kernel and stride must be at least 1"};
    if (padding >= kernel)
        return error{errc::usage, "padding " + std::to_string(padding) +
                                      " must be smaller than the kernel, which is " +
                                      std::to_string(kernel)};
    const tensor_shape output{description.getOut(),
                              windows_along(input[1], kernel, stride, padding),
                              windows_along(input[2], kernel, stride, padding)};
    if (output[1] == 0 || output[2] == 0)
        return error{errc::usage, "kernel " + std::to_string(kernel) + "x" +
                                      std::to_string(kernel) + " is larger than its input " +
                                      std::to_string(input[1]) + "x" + std::to_string(input[2]) +
                                      " with padding " + std::to_string(padding)};
    return std::shared_ptr<const layer>{std::make_shared<conv2d_layer>(input, output, description)};
}

} // namespace troupe
