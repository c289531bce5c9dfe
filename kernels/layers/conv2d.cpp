#include <optional>

#include "kernels/layers/kinds.hpp"

namespace troupe {

namespace {

// A convolution, alone or with relu and max_pool behind it.
class conv2d_layer final : public layer {
  public:
    conv2d_layer(const tensor_shape& input, const tensor_shape& convolved,
                 proto::Conv2d::Reader description, const std::optional<pooled_shape>& pool)
        : input_{input}, convolved_{convolved}, kernel_{description.getKernel()},
          has_bias_{description.getBias()}, pool_{pool} {
        settings_.stride = description.getStride();
        settings_.padding = description.getPadding();
        settings_.groups = description.getGroups();
    }

    std::string_view kind() const noexcept override { return "conv2d"; }
    value_form output() const noexcept override {
        return numbers(pool_ ? pool_->output : convolved_);
    }
    double forward_flops() const noexcept override {
        return 2.0 * static_cast<double>(convolved_.elements()) * static_cast<double>(fan_in());
    }
    double backward_flops(bool want_input_gradient) const noexcept override {
        return forward_flops() * (want_input_gradient ? 2 : 1);
    }
    kept_values kept() const noexcept override {
        if (!pool_)
            return {.inputs = 1};
        return {.inputs = 1,
                .output = true,
                .more_bytes =
                    pool_->output.elements() * size_of(position_type(pool_->settings.kernel))};
    }
    std::vector<parameter_info> parameters() const override {
        std::vector<parameter_info> all{{.name = "weight",
                                         .shape = {convolved_[0], group_inputs(), kernel_, kernel_},
                                         .fan_in = fan_in()}};
        if (has_bias_)
            all.push_back({.name = "bias", .shape = {convolved_[0]}});
        return all;
    }

    result<activation> forward(compute_context& context, forward_pass pass,
                               saved_layer& saved) const override;
    result<gradients> backward(compute_context& context, backward_pass pass) const override;

  private:
    std::size_t group_inputs() const noexcept { return input_[0] / settings_.groups; }
    std::size_t fan_in() const noexcept { return group_inputs() * kernel_ * kernel_; }

    conv2d_settings settings_for(const compute_context& context) const noexcept {
        conv2d_settings settings = settings_;
        settings.input_block = context.ops.channel_block(input_[0]);
        settings.output_block = context.ops.channel_block(convolved_[0]);
        settings.products = context.products;
        return settings;
    }
    max_pool_settings pool_settings(const conv2d_settings& settings) const noexcept {
        max_pool_settings pool = pool_->settings;
        pool.block = settings.output_block;
        return pool;
    }

    tensor_shape input_;
    tensor_shape convolved_;
    std::size_t kernel_;
    bool has_bias_;
    conv2d_settings settings_; // without what the context decides: blocks and products
    std::optional<pooled_shape> pool_;
};

// Saves the input and, with a pool, its output and positions.
result<activation> conv2d_layer::forward(compute_context& context, forward_pass pass,
                                         saved_layer& saved) const {
    const conv2d_settings settings = settings_for(context);
    const tensor& weight = pass.parameters[0];
    const tensor* bias = has_bias_ ? &pass.parameters[1] : nullptr;
    auto blocked = in_block(context, std::move(pass.inputs[0]), settings.input_block);
    if (!blocked)
        return blocked;
    const tensor& images = blocked->values;
    const tensor_shape shape = batch_of(images.shape()[0], output().shape);
    auto made = tensor::allocate(context.memory, data_type::float32, shape);
    if (!made)
        return made.failure();
    result<void> done;
    if (pool_) {
        auto positions =
            tensor::allocate(context.memory, position_type(pool_->settings.kernel), shape);
        if (!positions)
            return positions.failure();
        done = context.ops.run(conv2d_pool_forward{settings, pool_settings(settings), images,
                                                   weight, bias, *made, *positions});
        saved.tensors = {images, *made, *positions};
    } else {
        done = context.ops.run(conv2d_forward{settings, images, weight, bias, *made});
        saved.tensors = {images};
    }
    if (!done)
        return done.failure();
    return activation{std::move(*made), settings.output_block};
}

result<layer::gradients> conv2d_layer::backward(compute_context& context,
                                                backward_pass pass) const {
    const conv2d_settings settings = settings_for(context);
    auto blocked = in_block(context, std::move(pass.output_gradient), settings.output_block);
    if (!blocked)
        return blocked.failure();
    const tensor& input = pass.saved.tensors[0];
    const tensor& weight = pass.parameters[0];
    auto made = allocate_gradients(context, pass);
    if (!made)
        return made.failure();
    tensor& to_weight = made->parameters[0];
    tensor* to_bias = has_bias_ ? &made->parameters[1] : nullptr;
    tensor* to_input = pass.wanted[0] ? &made->inputs[0].values : nullptr;
    const result<void> done =
        pool_
            ? context.ops.run(conv2d_pool_backward{settings, pool_settings(settings), input, weight,
                                                   pass.saved.tensors[1], pass.saved.tensors[2],
                                                   blocked->values, to_input, to_weight, to_bias})
            : context.ops.run(conv2d_backward{settings, input, weight, blocked->values, to_input,
                                              to_weight, to_bias});
    if (!done)
        return done.failure();
    made->inputs[0].block = settings.input_block;
    return made;
}

result<tensor_shape> convolved_shape(proto::Conv2d::Reader description, const tensor_shape& input) {
    const std::size_t kernel = description.getKernel();
    const std::size_t stride = description.getStride();
    const std::size_t padding = description.getPadding();
    if (input.rank() != 3)
        return error{errc::usage,
                     "needs an input of [channels, height, width], but gets " + to_string(input)};
    if (description.getOut() == 0 || kernel == 0 || stride == 0)
        return error{errc::usage, "out, kernel and stride must be at least 1"};
    const std::size_t groups = description.getGroups();
    if (groups == 0 || input[0] % groups != 0 || description.getOut() % groups != 0)
        return error{errc::usage, "groups " + std::to_string(groups) + " must divide the " +
                                      std::to_string(input[0]) + " channels of the input and the " +
                                      std::to_string(description.getOut()) + " of the output"};
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
    return output;
}

} // namespace

result<std::shared_ptr<const layer>> make_conv2d(proto::Conv2d::Reader description,
                                                 const tensor_shape& input) {
    auto output = convolved_shape(description, input);
    if (!output)
        return output.failure();
    return std::shared_ptr<const layer>{
        std::make_shared<conv2d_layer>(input, *output, description, std::optional<pooled_shape>{})};
}

result<std::shared_ptr<const layer>> make_conv2d_pool(proto::Conv2d::Reader conv2d,
                                                      proto::MaxPool::Reader pool,
                                                      const tensor_shape& input) {
    auto convolved = convolved_shape(conv2d, input);
    if (!convolved)
        return convolved.failure();
    auto pooled_output = pooled(pool, *convolved);
    if (!pooled_output)
        return pooled_output.failure();
    return std::shared_ptr<const layer>{
        std::make_shared<conv2d_layer>(input, *convolved, conv2d, std::optional{*pooled_output})};
}

} // namespace troupe
