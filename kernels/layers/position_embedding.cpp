#include "kernels/layers/kinds.hpp"

namespace troupe {

namespace {

class position_embedding_layer final : public layer {
  public:
    position_embedding_layer(const tensor_shape& shape, double deviation)
        : shape_{shape}, deviation_{deviation} {}

    std::string_view kind() const noexcept override { return "position_embedding"; }
    value_form output() const noexcept override { return numbers(shape_); }
    double forward_flops() const noexcept override {
        return static_cast<double>(shape_.elements());
    }
    double backward_flops(bool) const noexcept override { return forward_flops(); }
    kept_values kept() const noexcept override { return {}; }
    std::vector<parameter_info> parameters() const override {
        return {{.name = "weight", .shape = shape_, .initial_deviation = deviation_}};
    }

    result<activation> forward(compute_context& context, forward_pass pass,
                               saved_layer&) const override {
        const tensor input = std::move(pass.inputs[0].values);
        auto sum = writable(context, input);
        if (!sum)
            return sum.failure();
        if (auto done = context.ops.run(add_to_samples{input, pass.parameters[0], *sum}); !done)
            return done.failure();
        return activation{std::move(*sum), 1};
    }

    result<gradients> backward(compute_context& context, backward_pass pass) const override {
        auto to_weight = tensor::allocate(context.memory, data_type::float32, shape_);
        if (!to_weight)
            return to_weight.failure();
        if (auto done = context.ops.run(sum_of_samples{pass.output_gradient.values, *to_weight});
            !done)
            return done.failure();
        return gradients{{std::move(pass.output_gradient)}, {std::move(*to_weight)}, {}};
    }

  private:
    tensor_shape shape_;
    double deviation_;
};

} // namespace

result<std::shared_ptr<const layer>>
make_position_embedding(proto::PositionEmbedding::Reader description, const tensor_shape& input) {
    if (input.rank() != 2)
        return error{errc::usage,
                     "needs an input of [positions, width], but gets " + to_string(input)};
    return std::shared_ptr<const layer>{
        std::make_shared<position_embedding_layer>(input, description.getDeviation())};
}

} // namespace troupe
