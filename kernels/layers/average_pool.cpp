#include "kernels/layers/kinds.hpp"

namespace troupe {

namespace {

class average_pool_layer final : public layer {
  public:
    average_pool_layer(std::string_view kind, const tensor_shape& input, const tensor_shape& output,
                       const average_pool_settings& settings)
        : kind_{kind}, input_{input}, output_{output}, settings_{settings} {}

    std::string_view kind() const noexcept override { return kind_; }
    value_form output() const noexcept override { return numbers(output_); }
    double forward_flops() const noexcept override {
        return static_cast<double>(output_.elements()) *
               static_cast<double>(settings_.kernel_height * settings_.kernel_width);
    }
    double backward_flops(bool want_input_gradient) const noexcept override {
        return want_input_gradient ? forward_flops() : 0;
    }
    kept_values kept() const noexcept override { return {}; }

    result<activation> forward(compute_context& context, forward_pass pass,
                               saved_layer& saved) const override {
        // The order of sums is that of the block, so it is one that does not depend on where the model is cut.
        auto input =
            in_block(context, std::move(pass.inputs[0]), context.ops.channel_block(input_[0]));
        if (!input)
            return input;
        auto output = tensor::allocate(context.memory, data_type::float32,
                                       batch_of(input->values.shape()[0], output_));
        if (!output)
            return output.failure();
        auto done = context.ops.run(average_pool_forward{in(input->block), input->values, *output});
        if (!done)
            return done.failure();
        return activation{std::move(*output), saved.block = input->block};
    }

    result<gradients> backward(compute_context& context, backward_pass pass) const override {
        auto blocked = in_block(context, std::move(pass.output_gradient), pass.saved.block);
        if (!blocked)
            return blocked.failure();
        auto to_input = tensor::allocate(context.memory, data_type::float32,
                                         batch_of(blocked->values.shape()[0], input_));
        if (!to_input)
            return to_input.failure();
        auto done = context.ops.run(
            average_pool_backward{in(pass.saved.block), blocked->values, *to_input});
        if (!done)
            return done.failure();
        return gradients{{{std::move(*to_input), pass.saved.block}}, {}, {}};
    }

  private:
    average_pool_settings in(std::size_t block) const noexcept {
        average_pool_settings settings = settings_;
        settings.block = block;
        return settings;
    }

    std::string_view kind_;
    tensor_shape input_;
    tensor_shape output_;
    average_pool_settings settings_; // its block is chosen by the input
};

} // namespace

result<std::shared_ptr<const layer>> make_average_pool(proto::AveragePool::Reader description,
                                                       const tensor_shape& input) {
    const std::size_t kernel = description.getKernel();
    const std::size_t stride = description.getStride() == 0 ? kernel : description.getStride();
    const std::size_t padding = description.getPadding();
    auto output = pooled_images({.kernel = kernel, .stride = stride, .padding = padding}, input);
    if (!output)
        return output.failure();
    return std::shared_ptr<const layer>{std::make_shared<average_pool_layer>(
        "average_pool", input, *output, average_pool_settings{kernel, kernel, stride, padding})};
}

result<std::shared_ptr<const layer>> make_global_average_pool(const tensor_shape& input) {
    if (input.rank() != 3)
        return error{errc::usage,
                     "needs an input of [channels, height, width], but gets " + to_string(input)};
    return std::shared_ptr<const layer>{std::make_shared<average_pool_layer>(
        "global_average_pool", input, tensor_shape{input[0], 1, 1},
        average_pool_settings{input[1], input[2], 1, 0})};
}

} // namespace troupe
