#include "kernels/layers/kinds.hpp"
#include "schemas/base/random.hpp"

namespace troupe {

namespace {

class dropout_layer final : public layer {
  public:
    dropout_layer(float probability, const tensor_shape& shape)
        : probability_{probability}, shape_{shape} {}

    std::string_view kind() const noexcept override { return "dropout"; }
    value_form output() const noexcept override { return numbers(shape_); }
    // The random numbers are most of the work.
    double forward_flops() const noexcept override {
        return 20 * static_cast<double>(shape_.elements());
    }
    double backward_flops(bool want_input_gradient) const noexcept override {
        return want_input_gradient ? forward_flops() : 0;
    }
    kept_values kept() const noexcept override { return {}; }

    result<activation> forward(compute_context& context, forward_pass pass,
                               saved_layer&) const override {
        return drop(context, pass.part, std::move(pass.inputs[0]));
    }

    result<gradients> backward(compute_context& context, backward_pass pass) const override {
        auto dropped = drop(context, pass.part, std::move(pass.output_gradient));
        if (!dropped)
            return dropped.failure();
        return gradients{{std::move(*dropped)}, {}, {}};
    }

  private:
    // Row-major, as the mask depends on the order of the elements.
    result<activation> drop(compute_context& context, const batch_part& part,
                            activation values) const {
        if (!part.training)
            return values;
        auto plain = in_block(context, std::move(values), 1);
        if (!plain)
            return plain;
        auto target = writable(context, plain->values);
        if (!target)
            return target.failure();
        std::uint64_t seed = part.seed;
        const dropout_key key{.stream = split_mix(seed) ^ part.place, .minibatch = part.minibatch};
        if (auto done =
                context.ops.run(dropout{probability_, key, part.first_row, plain->values, *target});
            !done)
            return done.failure();
        return activation{std::move(*target), 1};
    }

    float probability_;
    tensor_shape shape_;
};

} // namespace

result<std::shared_ptr<const layer>> make_dropout(proto::Dropout::Reader description,
                                                  const tensor_shape& input) {
    const float probability = description.getProbability();
    if (!(probability >= 0 && probability < 1))
        return error{errc::usage, "probability must be at least 0 and below 1"};
    return std::shared_ptr<const layer>{std::make_shared<dropout_layer>(probability, input)};
}

} // namespace troupe
