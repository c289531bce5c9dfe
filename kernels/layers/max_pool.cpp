#include "kernels/layers/kinds.hpp"

namespace troupe {

namespace {

class max_pool_layer final : public layer {
  public:
    max_pool_layer(const tensor_shape& input, const tensor_shape& output,
                   const max_pool_settings& settings)
        : input_{input}, output_{output}, settings_{settings} {}

    std::string_view kind() const noexcept override { return "max_pool"; }
    value_form output() const noexcept override { return numbers(output_); }
    double forward_flops() const noexcept override {
        return static_cast<double>(output_.elements()) *
               static_cast<double>(settings_.kernel * settings_.kernel);
    }
    double backward_flops(bool want_input_gradient) const noexcept override {
        return want_input_gradient ? static_cast<double>(output_.elements()) : 0;
    }
    kept_values kept() const noexcept override {
        return {.more_bytes = output_.elements() * size_of(position_type(settings_.kernel))};
    }

    result<activation> forward(compute_context& context, forward_pass pass,
                               saved_layer& saved) const override {
        const activation& input = pass.inputs[0];
        const max_pool_settings settings = in(input.block);
        const tensor_shape shape = batch_of(input.values.shape()[0], output_);
        auto output = tensor::allocate(context.memory, data_type::float32, shape);
        auto positions = tensor::allocate(context.memory, position_type(settings.kernel), shape);
        if (!output || !positions)
            return output ? positions.failure() : output.failure();
        auto done = context.ops.run(max_pool_forward{.settings = settings,
                                                     .input = input.values,
                                                     .output = *output,
                                                     .positions = *positions});
        if (!done)
            return done.failure();
        saved.tensors = {std::move(*positions)};
        saved.block = settings.block;
        return activation{std::move(*output), settings.block};
    }

    result<gradients> backward(compute_context& context, backward_pass pass) const override {
        const tensor& positions = pass.saved.tensors[0];
        auto blocked = in_block(context, std::move(pass.output_gradient), pass.saved.block);
        if (!blocked)
            return blocked.failure();
        auto to_input = tensor::allocate(context.memory, data_type::float32,
                                         batch_of(positions.shape()[0], input_));
        if (!to_input)
            return to_input.failure();
        auto done = context.ops.run(max_pool_backward{.settings = in(pass.saved.block),
                                                      .output_gradient = blocked->values,
                                                      .positions = positions,
                                                      .input_gradient = *to_input});
        if (!done)
            return done.failure();
        return gradients{{{std::move(*to_input), pass.saved.block}}, {}, {}};
    }

  private:
    max_pool_settings in(std::size_t block) const noexcept {
        max_pool_settings settings = settings_;
        settings.block = block;
        return settings;
    }

    tensor_shape input_;
    tensor_shape output_;
    max_pool_settings settings_; // its block is chosen by the input
};

} // namespace

result<tensor_shape> pooled_images(const max_pool_settings& windows, const tensor_shape& input) {
    const std::size_t padding = windows.padding;
    if (input.rank() != 3)
        return error{errc::usage,
                     "needs an input of [channels, height, width], but gets " + to_string(input)};
    if (windows.kernel == 0)
        return error{errc::usage, "kernel must be at least 1"};
    if (2 * padding > windows.kernel)
        return error{errc::usage, "padding " + std::to_string(padding) +
                                      " must be at most half the kernel, which is " +
                                      std::to_string(windows.kernel)};
    const tensor_shape output{input[0],
                              windows_along(input[1], windows.kernel, windows.stride, padding),
                              windows_along(input[2], windows.kernel, windows.stride, padding)};
    if (output[1] == 0 || output[2] == 0)
        return error{errc::usage,
                     "window " + std::to_string(windows.kernel) + "x" +
                         std::to_string(windows.kernel) + " is larger than its input " +
                         std::to_string(input[1]) + "x" + std::to_string(input[2]) +
                         (padding > 0 ? " with padding " + std::to_string(padding) : "")};
    return output;
}

result<pooled_shape> pooled(proto::MaxPool::Reader description, const tensor_shape& input) {
    const std::size_t kernel = description.getKernel();
    const max_pool_settings settings{
        .kernel = kernel,
        .stride = description.getStride() == 0 ? kernel : description.getStride(),
        .padding = description.getPadding()};
    auto output = pooled_images(settings, input);
    if (!output)
        return output.failure();
    return pooled_shape{settings, *output};
}

result<std::shared_ptr<const layer>> make_max_pool(proto::MaxPool::Reader description,
                                                   const tensor_shape& input) {
    auto shape = pooled(description, input);
    if (!shape)
        return shape.failure();
    return std::shared_ptr<const layer>{
        std::make_shared<max_pool_layer>(input, shape->output, shape->settings)};
}

} // namespace troupe
