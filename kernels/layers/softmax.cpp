#include "kernels/layers/kinds.hpp"

namespace troupe {

namespace {

class softmax_layer final : public layer {
  public:
    explicit softmax_layer(const tensor_shape& shape) : shape_{shape} {}

    std::string_view kind() const noexcept override { return "softmax"; }
    value_form output() const noexcept override { return numbers(shape_); }
    double forward_flops() const noexcept override {
        return 20 * static_cast<double>(shape_.elements());
    }
    double backward_flops(bool want_input_gradient) const noexcept override {
        return want_input_gradient ? 4 * static_cast<double>(shape_.elements()) : 0;
    }
    kept_values kept() const noexcept override { return {.output = true}; }

    result<activation> forward(compute_context& context, forward_pass pass,
                               saved_layer& saved) const override {
        auto plain = in_block(context, std::move(pass.inputs[0]), 1);
        if (!plain)
            return plain;
        auto target = writable(context, plain->values);
        if (!target)
            return target.failure();
        if (auto done = context.ops.run(softmax_forward{plain->values, *target}); !done)
            return done.failure();
        saved.tensors = {*target};
        return activation{std::move(*target), 1};
    }

    result<gradients> backward(compute_context& context, backward_pass pass) const override {
        auto plain = in_block(context, std::move(pass.output_gradient), 1);
        if (!plain)
            return plain.failure();
        auto to_input = writable(context, plain->values);
        if (!to_input)
            return to_input.failure();
        if (auto done =
                context.ops.run(softmax_backward{pass.saved.tensors[0], plain->values, *to_input});
            !done)
            return done.failure();
        return gradients{{{std::move(*to_input), 1}}, {}, {}};
    }

  private:
    tensor_shape shape_;
};

} // namespace

result<std::shared_ptr<const layer>> make_softmax(const tensor_shape& input) {
    return std::shared_ptr<const layer>{std::make_shared<softmax_layer>(input)};
}

} // namespace troupe
