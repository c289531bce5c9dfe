#include "kernels/layers/kinds.hpp"

namespace troupe {

namespace {

class pointwise_layer final : public layer {
  public:
    pointwise_layer(std::string_view kind, pointwise function, const tensor_shape& shape)
        : kind_{kind}, function_{function}, shape_{shape} {}

    std::string_view kind() const noexcept override { return kind_; }
    value_form output() const noexcept override { return numbers(shape_); }
    // An exponential and a division count as some ten.
    double forward_flops() const noexcept override {
        return (function_ == pointwise::relu ? 1 : 20) * static_cast<double>(shape_.elements());
    }
    double backward_flops(bool want_input_gradient) const noexcept override {
        return want_input_gradient ? forward_flops() : 0;
    }
    kept_values kept() const noexcept override {
        const bool output = keeps_output(function_);
        return {.inputs = output ? 0u : 1u, .output = output};
    }

    result<activation> forward(compute_context& context, forward_pass pass,
                               saved_layer& saved) const override {
        const activation& input = pass.inputs[0];
        const bool overwrites = keeps_output(function_);
        auto output =
            overwrites ? writable(context, input.values)
                       : tensor::allocate(context.memory, data_type::float32, input.values.shape());
        if (!output)
            return output.failure();
        if (auto done = context.ops.run(pointwise_forward{function_, input.values, *output}); !done)
            return done.failure();
        saved.tensors = {overwrites ? *output : input.values};
        return activation{std::move(*output), saved.block = input.block};
    }

    result<gradients> backward(compute_context& context, backward_pass pass) const override {
        auto blocked = in_block(context, std::move(pass.output_gradient), pass.saved.block);
        if (!blocked)
            return blocked.failure();
        auto to_input = writable(context, blocked->values);
        if (!to_input)
            return to_input.failure();
        auto done = context.ops.run(
            pointwise_backward{function_, pass.saved.tensors[0], blocked->values, *to_input});
        if (!done)
            return done.failure();
        return gradients{{{std::move(*to_input), pass.saved.block}}, {}, {}};
    }

  private:
    std::string_view kind_;
    pointwise function_;
    tensor_shape shape_;
};

} // namespace

result<std::shared_ptr<const layer>> make_pointwise(std::string_view kind, pointwise function,
                                                    const tensor_shape& input) {
    return std::shared_ptr<const layer>{std::make_shared<pointwise_layer>(kind, function, input)};
}

} // namespace troupe
