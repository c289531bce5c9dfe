#include "kernels/layers/kinds.hpp"

namespace troupe {

namespace {

result<tensor> scaled(compute_context& context, const tensor& t, float factor) {
    auto product = tensor::allocate(context.memory, data_type::float32, t.shape());
    if (!product)
        return product;
    if (auto cleared = context.ops.run(fill{*product, 0}); !cleared)
        return cleared.failure();
    if (auto done = context.ops.run(add_scaled{*product, factor, t, *product}); !done)
        return done.failure();
    return product;
}

// By channel, the first dimension of each sample. Of microbatches each is normalised by itself, and running averages are of
// all of them.
class batch_norm_layer final : public layer {
  public:
    batch_norm_layer(const tensor_shape& shape, proto::BatchNorm::Reader description)
        : shape_{shape}, epsilon_{description.getEpsilon()}, momentum_{description.getMomentum()} {}

    std::string_view kind() const noexcept override { return "batch_norm"; }
    value_form output() const noexcept override { return numbers(shape_); }
    double forward_flops() const noexcept override {
        return 7 * static_cast<double>(shape_.elements());
    }
    double backward_flops(bool) const noexcept override { return 2 * forward_flops(); }
    kept_values kept() const noexcept override { return {.inputs = 1}; }
    std::vector<parameter_info> parameters() const override {
        return {{.name = "weight", .shape = {shape_[0]}, .initial = 1},
                {.name = "bias", .shape = {shape_[0]}}};
    }
    // One value of a channel has no variance.
    std::size_t samples_min() const noexcept override {
        return shape_.elements() == shape_[0] ? 2 : 1;
    }
    std::vector<average_info> averages() const override {
        return {{"running_mean", {shape_[0]}, 0, momentum_},
                {"running_var", {shape_[0]}, 1, momentum_}};
    }

    result<activation> forward(compute_context& context, forward_pass pass,
                               saved_layer& saved) const override;
    result<gradients> backward(compute_context& context, backward_pass pass) const override;

  private:
    tensor_shape shape_;
    float epsilon_;
    float momentum_;
};

result<activation> batch_norm_layer::forward(compute_context& context, forward_pass pass,
                                             saved_layer& saved) const {
    if (!pass.part.training) {
        const activation& input = pass.inputs[0];
        const batch_norm_settings settings{epsilon_, input.block};
        auto output = writable(context, input.values);
        if (!output)
            return output.failure();
        auto done = context.ops.run(batch_norm_inference{settings, input.values, pass.parameters[0],
                                                         pass.parameters[1], pass.averages[0],
                                                         pass.averages[1], *output});
        if (!done)
            return done.failure();
        return activation{std::move(*output), input.block};
    }
    // The order of sums is that of the block, so it is one that does not depend on where the model is cut.
    auto input = in_block(context, std::move(pass.inputs[0]),
                          shape_.rank() == 3 ? context.ops.channel_block(shape_[0]) : 1);
    if (!input)
        return input;
    const tensor_shape channels{shape_[0]};
    auto made = allocate_all(context, {input->values.shape(), channels, channels, channels});
    if (!made)
        return made.failure();
    auto& [output, mean, variance, inverse_deviation] = *made;
    auto done = context.ops.run(batch_norm_forward{{epsilon_, input->block},
                                                   input->values,
                                                   pass.parameters[0],
                                                   pass.parameters[1],
                                                   output,
                                                   mean,
                                                   variance,
                                                   inverse_deviation});
    if (!done)
        return done.failure();
    saved.tensors = {input->values, mean, inverse_deviation, variance};
    saved.block = input->block;
    return activation{std::move(output), input->block};
}

result<layer::gradients> batch_norm_layer::backward(compute_context& context,
                                                    backward_pass pass) const {
    const std::size_t block = pass.saved.block;
    auto blocked = in_block(context, std::move(pass.output_gradient), block);
    if (!blocked)
        return blocked.failure();
    auto made = allocate_gradients(context, pass);
    if (!made)
        return made;
    const auto& saved = pass.saved.tensors;
    auto done =
        context.ops.run(batch_norm_backward{{epsilon_, block},
                                            saved[0],
                                            pass.parameters[0],
                                            saved[1],
                                            saved[2],
                                            blocked->values,
                                            pass.wanted[0] ? &made->inputs[0].values : nullptr,
                                            made->parameters[0],
                                            made->parameters[1]});
    if (!done)
        return done.failure();
    made->inputs[0].block = block;
    for (const tensor& statistic : {saved[1], saved[3]}) {
        auto share = scaled(context, statistic, pass.part.share);
        if (!share)
            return share.failure();
        made->statistics.push_back(std::move(*share));
    }
    return made;
}

// Across channels.
class local_response_norm_layer final : public layer {
  public:
    local_response_norm_layer(const tensor_shape& shape,
                              const local_response_norm_settings& settings)
        : shape_{shape}, settings_{settings} {}

    std::string_view kind() const noexcept override { return "local_response_norm"; }
    value_form output() const noexcept override { return numbers(shape_); }
    double forward_flops() const noexcept override {
        return static_cast<double>(7 + settings_.size) * static_cast<double>(shape_.elements());
    }
    double backward_flops(bool want_input_gradient) const noexcept override {
        return want_input_gradient ? 2 * forward_flops() : 0;
    }
    kept_values kept() const noexcept override { return {.inputs = 1}; }

    result<activation> forward(compute_context& context, forward_pass pass,
                               saved_layer& saved) const override {
        const activation& input = pass.inputs[0];
        auto output = tensor::allocate(context.memory, data_type::float32, input.values.shape());
        if (!output)
            return output.failure();
        auto done =
            context.ops.run(local_response_norm_forward{in(input.block), input.values, *output});
        if (!done)
            return done.failure();
        saved.tensors = {input.values};
        return activation{std::move(*output), saved.block = input.block};
    }

    result<gradients> backward(compute_context& context, backward_pass pass) const override {
        auto blocked = in_block(context, std::move(pass.output_gradient), pass.saved.block);
        if (!blocked)
            return blocked.failure();
        auto to_input = writable(context, blocked->values);
        if (!to_input)
            return to_input.failure();
        auto done = context.ops.run(local_response_norm_backward{
            in(pass.saved.block), pass.saved.tensors[0], blocked->values, *to_input});
        if (!done)
            return done.failure();
        return gradients{{{std::move(*to_input), pass.saved.block}}, {}, {}};
    }

  private:
    local_response_norm_settings in(std::size_t block) const noexcept {
        local_response_norm_settings settings = settings_;
        settings.block = block;
        return settings;
    }

    tensor_shape shape_;
    local_response_norm_settings settings_; // its block is chosen by the input
};

} // namespace

result<std::shared_ptr<const layer>> make_batch_norm(proto::BatchNorm::Reader description,
                                                     const tensor_shape& input) {
    return std::shared_ptr<const layer>{std::make_shared<batch_norm_layer>(input, description)};
}

result<std::shared_ptr<const layer>>
make_local_response_norm(proto::LocalResponseNorm::Reader description, const tensor_shape& input) {
    return std::shared_ptr<const layer>{std::make_shared<local_response_norm_layer>(
        input, local_response_norm_settings{.size = description.getSize(),
                                            .alpha = description.getAlpha(),
                                            .beta = description.getBeta(),
                                            .k = description.getK()})};
}

} // namespace troupe
