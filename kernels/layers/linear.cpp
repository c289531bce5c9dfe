#include "kernels/layers/kinds.hpp"

namespace troupe {

namespace {

// Multiplies each row of a sample: its positions, or, of images, all of it. Alone or with an activation behind it.
class linear_layer final : public layer {
  public:
    linear_layer(const tensor_shape& input, std::size_t rows, proto::Linear::Reader description,
                 std::optional<pointwise> activation)
        : input_{input}, rows_{rows}, in_{input.elements() / rows}, out_{description.getOut()},
          has_bias_{description.getBias()}, activation_{activation} {}

    std::string_view kind() const noexcept override { return "linear"; }
    value_form output() const noexcept override {
        return numbers(input_.rank() == 2 ? tensor_shape{rows_, out_} : tensor_shape{out_});
    }
    double forward_flops() const noexcept override {
        return 2.0 * static_cast<double>(rows_) * static_cast<double>(in_) *
               static_cast<double>(out_);
    }
    double backward_flops(bool want_input_gradient) const noexcept override {
        return forward_flops() * (want_input_gradient ? 2 : 1);
    }
    double weight_half_flops() const noexcept override { return forward_flops(); }
    kept_values kept() const noexcept override {
        if (!activation_)
            return {.inputs = 1};
        const bool output = keeps_output(*activation_);
        return {.inputs = 1, .output = output, .more_bytes = output ? 0 : bytes_of(this->output())};
    }
    std::vector<parameter_info> parameters() const override {
        std::vector<parameter_info> all{
            {.name = "weight", .shape = {out_, in_}, .fan_in = in_, .factor_rows = rows_}};
        if (has_bias_)
            all.push_back({.name = "bias", .shape = {out_}});
        return all;
    }

    // Saves the input and, with an activation, what that keeps.
    result<activation> forward(compute_context& context, forward_pass pass,
                               saved_layer& saved) const override {
        auto plain = in_block(context, std::move(pass.inputs[0]), 1);
        if (!plain)
            return plain;
        const std::size_t samples = plain->values.shape()[0];
        const tensor flat = plain->values.reshaped({samples * rows_, in_});
        const tensor_shape shape{samples * rows_, out_};
        auto made = tensor::allocate(context.memory, data_type::float32, shape);
        if (!made)
            return made.failure();
        tensor pre_activation;
        if (activation_ && !keeps_output(*activation_) && pass.part.training) {
            auto more = tensor::allocate(context.memory, data_type::float32, shape);
            if (!more)
                return more.failure();
            pre_activation = std::move(*more);
        }
        auto done = context.ops.run(
            linear_forward{.input = flat,
                           .weight = pass.parameters[0],
                           .bias = has_bias_ ? &pass.parameters[1] : nullptr,
                           .output = *made,
                           .products = context.products,
                           .activation = activation_,
                           .pre_activation = pre_activation ? &pre_activation : nullptr});
        if (!done)
            return done.failure();
        saved.tensors = {flat};
        if (activation_)
            saved.tensors.push_back(pre_activation ? std::move(pre_activation) : *made);
        return activation{made->reshaped(batch_of(samples, output().shape)), 1};
    }

    result<gradients> backward(compute_context& context, backward_pass pass) const override {
        if (activation_)
            if (auto done = go_back_through_activation(context, pass); !done)
                return done.failure();
        const tensor& input = pass.saved.tensors[0];
        auto made = allocate_input_gradient(context, pass);
        if (!made)
            return made.failure();
        tensor& to_input = made->inputs[0].values;
        const tensor output_gradient =
            pass.output_gradient.values.reshaped({input.shape()[0], out_});
        if (pass.in_halves) {
            made->rest.tensors = {input, output_gradient};
            if (auto done = go_back(context, made->rest, pass.parameters[0],
                                    to_input ? &to_input : nullptr, nullptr, nullptr);
                !done)
                return done.failure();
        } else {
            auto of_weights = weight_gradients(
                context, {pass.part, pass.parameters, {{input, output_gradient}}, pass.as_factors},
                to_input ? &to_input : nullptr);
            if (!of_weights)
                return of_weights.failure();
            made->parameters = std::move(*of_weights);
        }
        if (to_input)
            to_input = to_input.reshaped(batch_of(input.shape()[0] / rows_, input_));
        return made;
    }

    result<std::vector<tensor>> weight_gradients(compute_context& context,
                                                 weight_pass pass) const override {
        return weight_gradients(context, std::move(pass), nullptr);
    }

  private:
    // `rest`: the input, and the gradient of the product's output. Null: not wanted.
    result<void> go_back(compute_context& context, const saved_layer& rest, const tensor& weight,
                         tensor* to_input, tensor* to_weight, tensor* to_bias) const {
        return context.ops.run(linear_backward{.input = rest.tensors[0],
                                               .weight = weight,
                                               .output_gradient = rest.tensors[1],
                                               .input_gradient = to_input,
                                               .weight_gradient = to_weight,
                                               .bias_gradient = to_bias,
                                               .products = context.products});
    }

    // As a second half, or of the whole with the input's gradient.
    result<std::vector<tensor>> weight_gradients(compute_context& context, weight_pass pass,
                                                 tensor* to_input) const {
        auto made = allocate_weight_gradients(context, pass.parameters, pass.as_factors);
        if (!made)
            return made;
        if (auto done =
                go_back(context, pass.rest, pass.parameters[0], to_input,
                        pass.as_factors ? nullptr : &(*made)[0], has_bias_ ? &(*made)[1] : nullptr);
            !done)
            return done.failure();
        if (pass.as_factors) {
            auto factors = factors_of(context, pass.rest.tensors[1], pass.rest.tensors[0]);
            if (!factors)
                return factors.failure();
            (*made)[0] = std::move(*factors);
        }
        return made;
    }

    // The pass as it is for the product alone.
    result<void> go_back_through_activation(compute_context& context, backward_pass& pass) const {
        tensor& gradient = pass.output_gradient.values;
        auto to_sums = writable(context, gradient);
        if (!to_sums)
            return to_sums.failure();
        const tensor kept = pass.saved.tensors.back().reshaped(gradient.shape());
        if (auto done = context.ops.run(pointwise_backward{*activation_, kept, gradient, *to_sums});
            !done)
            return done;
        gradient = std::move(*to_sums);
        pass.saved.tensors.pop_back();
        return {};
    }

    // Each row has the output's gradient and then the input.
    result<tensor> factors_of(compute_context& context, const tensor& output_gradient,
                              const tensor& input) const {
        auto factors =
            tensor::allocate(context.memory, data_type::float32, {input.shape()[0], out_ + in_});
        if (!factors)
            return factors;
        const tensor parts[] = {output_gradient, input};
        const auto done = context.ops.run(concat{.axis = 1, .inputs = parts, .output = *factors});
        return done ? std::move(factors) : result<tensor>{done.failure()};
    }

    tensor_shape input_;
    std::size_t rows_; // of a sample
    std::size_t in_;
    std::size_t out_;
    bool has_bias_;
    std::optional<pointwise> activation_;
};

} // namespace

result<std::shared_ptr<const layer>> make_linear(proto::Linear::Reader description,
                                                 const tensor_shape& input,
                                                 std::optional<pointwise> activation) {
    if (description.getOut() == 0)
        return error{errc::usage, "out must be at least 1"};
    const std::size_t rows = input.rank() == 2 ? input[0] : 1;
    return std::shared_ptr<const layer>{
        std::make_shared<linear_layer>(input, rows, description, activation)};
}

} // namespace troupe
