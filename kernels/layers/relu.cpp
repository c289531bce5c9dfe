#include "kernels/layers/kinds.hpp"

namespace troupe {

namespace {

class relu_layer final : public layer {
  public:
    explicit relu_layer(const tensor_shape& shape) : shape_{shape} {}

    std::string_view kind() const noexcept override { return "relu"; }
    tensor_shape output_shape() const noexcept override { return shape_; }
    double forward_flops() const noexcept override {
        return static_cast<double>(shape_.elements());
    }
    double backward_flops(bool want_input_gradient) const noexcept override {
        return want_input_gradient ? forward_flops() : 0;
    }

    result<activation> forward(compute_context& context, std::span<const tensor>, activation input,
                               saved_layer& saved) const override {
        auto output = writable(context, input.values);
        if (!output)
            return output.failure();
        if (auto done = context.ops.run(relu_forward{input.values, *output}); !done)
            return done.failure();
        saved.tensors = {*output};
        return activation{std::move(*output), saved.block = input.block};
    }

    result<gradients> backward(compute_context& context, backward_pass pass) const override {
        if (!pass.want_input_gradient)
            return gradients{};
        auto blocked = in_block(context, std::move(pass.output_gradient), pass.saved.block);
        if (!blocked)
            return blocked.failure();
        auto to_input = writable(context, blocked->values);
        if (!to_input)
            return to_input.failure();
        auto done =
            context.ops.run(relu_backward{pass.saved.tensors[0], blocked->values, *to_input});
        if (!done)
            return done.failure();
        return gradients{{std::move(*to_input), pass.saved.block}, {}};
    }

  private:
    tensor_shape shape_;
};

} // namespace

result<std::shared_ptr<const layer>> make_relu(const tensor_shape& input) {
    return std::shared_ptr<const layer>{std::make_shared<relu_layer>(input)};
}

} // namespace troupe
