#include "kernels/layers/kinds.hpp"

namespace troupe {

namespace {

// Over the last dimension of each sample: layer_norm, or rms_norm, which has neither mean nor bias.
class row_norm_layer final : public layer {
  public:
    row_norm_layer(const tensor_shape& shape, float epsilon, bool has_mean)
        : shape_{shape}, width_{shape[shape.rank() - 1]}, epsilon_{epsilon}, has_mean_{has_mean} {}

    std::string_view kind() const noexcept override {
        return has_mean_ ? "layer_norm" : "rms_norm";
    }
    value_form output() const noexcept override { return numbers(shape_); }
    double forward_flops() const noexcept override {
        return (has_mean_ ? 8 : 4) * static_cast<double>(shape_.elements());
    }
    double backward_flops(bool) const noexcept override { return 2 * forward_flops(); }
    kept_values kept() const noexcept override {
        const std::size_t rows = shape_.elements() / width_;
        return {.inputs = 1, .more_bytes = (has_mean_ ? 2 : 1) * rows * sizeof(float)};
    }
    std::vector<parameter_info> parameters() const override {
        std::vector<parameter_info> all{{.name = "weight", .shape = {width_}, .initial = 1}};
        if (has_mean_)
            all.push_back({.name = "bias", .shape = {width_}});
        return all;
    }

    result<activation> forward(compute_context& context, forward_pass pass,
                               saved_layer& saved) const override {
        auto plain = in_block(context, std::move(pass.inputs[0]), 1);
        if (!plain)
            return plain;
        const tensor& input = plain->values;
        const tensor_shape rows{input.elements() / width_};
        auto made = allocate_all(context, {input.shape(), rows, rows});
        if (!made)
            return made.failure();
        auto& [output, inverse_deviation, mean] = *made;
        const auto done =
            has_mean_ ? context.ops.run(layer_norm_forward{epsilon_, input, pass.parameters[0],
                                                           pass.parameters[1], output, mean,
                                                           inverse_deviation})
                      : context.ops.run(rms_norm_forward{epsilon_, input, pass.parameters[0],
                                                         output, inverse_deviation});
        if (!done)
            return done.failure();
        saved.tensors = {input, inverse_deviation};
        if (has_mean_)
            saved.tensors.push_back(mean);
        return activation{std::move(output), 1};
    }

    result<gradients> backward(compute_context& context, backward_pass pass) const override {
        auto plain = in_block(context, std::move(pass.output_gradient), 1);
        if (!plain)
            return plain.failure();
        auto made = allocate_gradients(context, pass);
        if (!made)
            return made;
        const auto& input = pass.saved.tensors[0];
        const auto& inverse_deviation = pass.saved.tensors[1];
        tensor* to_input = pass.wanted[0] ? &made->inputs[0].values : nullptr;
        const auto done =
            has_mean_
                ? context.ops.run(layer_norm_backward{
                      input, pass.parameters[0], pass.saved.tensors[2], inverse_deviation,
                      plain->values, to_input, made->parameters[0], made->parameters[1]})
                : context.ops.run(rms_norm_backward{input, pass.parameters[0], inverse_deviation,
                                                    plain->values, to_input, made->parameters[0]});
        if (!done)
            return done.failure();
        return made;
    }

  private:
    tensor_shape shape_;
    std::size_t width_;
    float epsilon_;
    bool has_mean_;
};

} // namespace

result<std::shared_ptr<const layer>> make_layer_norm(proto::LayerNorm::Reader description,
                                                     const tensor_shape& input) {
    return std::shared_ptr<const layer>{
        std::make_shared<row_norm_layer>(input, description.getEpsilon(), true)};
}

result<std::shared_ptr<const layer>> make_rms_norm(proto::RmsNorm::Reader description,
                                                   const tensor_shape& input) {
    return std::shared_ptr<const layer>{
        std::make_shared<row_norm_layer>(input, description.getEpsilon(), false)};
}

} // namespace troupe
