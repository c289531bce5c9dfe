#include "kernels/layers/kinds.hpp"

namespace troupe {

namespace {

// Self attention between two linear layers, whose parameters have the names of PyTorch's MultiheadAttention: in_proj makes
// queries, keys and values side by side.
class attention_layer final : public layer {
  public:
    attention_layer(const tensor_shape& input, attention_settings settings)
        : input_{input}, positions_{input[0]}, width_{input[1]}, settings_{settings} {}

    std::string_view kind() const noexcept override { return "attention"; }
    value_form output() const noexcept override { return numbers(input_); }
    double forward_flops() const noexcept override {
        return projection_flops() + 4 * pairs() * static_cast<double>(width_);
    }
    double backward_flops(bool) const noexcept override {
        return 2 * projection_flops() + 10 * pairs() * static_cast<double>(width_);
    }
    double weight_half_flops() const noexcept override { return projection_flops(); }
    kept_values kept() const noexcept override {
        return {.inputs = 1,
                .more_bytes = positions_ * (4 * width_ + settings_.heads) * sizeof(float)};
    }
    std::vector<parameter_info> parameters() const override {
        return {{.name = "in_proj_weight", .shape = {3 * width_, width_}, .fan_in = width_},
                {.name = "in_proj_bias", .shape = {3 * width_}},
                {.name = "out_proj.weight", .shape = {width_, width_}, .fan_in = width_},
                {.name = "out_proj.bias", .shape = {width_}}};
    }

    result<activation> forward(compute_context& context, forward_pass pass,
                               saved_layer& saved) const override;
    result<gradients> backward(compute_context& context, backward_pass pass) const override;
    result<std::vector<tensor>> weight_gradients(compute_context& context,
                                                 weight_pass pass) const override;

  private:
    // The number of pairs of queries with the keys that they see.
    double pairs() const noexcept {
        const double positions = static_cast<double>(positions_);
        return settings_.causal ? positions * (positions + 1) / 2 : positions * positions;
    }
    double projection_flops() const noexcept {
        return 8 * static_cast<double>(positions_ * width_) * static_cast<double>(width_);
    }
    // One of queries, keys and values.
    columns part(const tensor& packed, std::size_t i) const { return {packed, i * width_}; }
    mutable_columns part(tensor& packed, std::size_t i) const { return {packed, i * width_}; }

    tensor_shape input_;
    std::size_t positions_;
    std::size_t width_;
    attention_settings settings_;
};

// Saves the input and what is between the steps, as rows of positions.
result<activation> attention_layer::forward(compute_context& context, forward_pass pass,
                                            saved_layer& saved) const {
    const std::size_t samples = pass.inputs[0].values.shape()[0];
    const std::size_t rows = samples * positions_;
    const tensor input = pass.inputs[0].values.reshaped({rows, width_});
    auto made = allocate_all(context, {{rows, 3 * width_},
                                       {samples, positions_, width_},
                                       {samples, settings_.heads, positions_},
                                       {rows, width_}});
    if (!made)
        return made.failure();
    auto& [projected, attended, log_sums, out] = *made;
    const auto& p = pass.parameters;
    if (auto done =
            context.ops.run(linear_forward{input, p[0], &p[1], projected, context.products});
        !done)
        return done.failure();
    const tensor packed = projected.reshaped({samples, positions_, 3 * width_});
    if (auto done = context.ops.run(attention_forward{settings_, part(packed, 0), part(packed, 1),
                                                      part(packed, 2), nullptr, attended, log_sums,
                                                      context.products});
        !done)
        return done.failure();
    if (auto done = context.ops.run(
            linear_forward{attended.reshaped({rows, width_}), p[2], &p[3], out, context.products});
        !done)
        return done.failure();
    saved.tensors = {input, packed, attended, log_sums};
    return activation{out.reshaped({samples, positions_, width_}), 1};
}

// The rest is what the two projections multiply: their inputs, and the gradients of their outputs.
result<layer::gradients> attention_layer::backward(compute_context& context,
                                                   backward_pass pass) const {
    const tensor& input = pass.saved.tensors[0];
    const tensor& packed = pass.saved.tensors[1];
    const tensor& attended = pass.saved.tensors[2];
    const std::size_t rows = input.shape()[0];
    auto made = allocate_input_gradient(context, pass);
    if (!made)
        return made.failure();
    auto between = allocate_all(context, {{rows, width_}, packed.shape()});
    if (!between)
        return between.failure();
    auto& [to_rows, to_packed] = *between;
    const tensor rows_attended = attended.reshaped({rows, width_});
    const tensor output_gradient = pass.output_gradient.values.reshaped({rows, width_});
    std::vector<tensor> of_weights;
    if (!pass.in_halves) {
        auto allocated = allocate_weight_gradients(context, pass.parameters, false);
        if (!allocated)
            return allocated.failure();
        of_weights = std::move(*allocated);
    }
    const auto of_weight = [&](std::size_t p) { return pass.in_halves ? nullptr : &of_weights[p]; };
    if (auto done = context.ops.run(linear_backward{rows_attended, pass.parameters[2],
                                                    output_gradient, &to_rows, of_weight(2),
                                                    of_weight(3), context.products});
        !done)
        return done.failure();
    if (auto done = context.ops.run(attention_backward{
            settings_, part(packed, 0), part(packed, 1), part(packed, 2), nullptr, attended,
            pass.saved.tensors[3], to_rows.reshaped(attended.shape()), part(to_packed, 0),
            part(to_packed, 1), part(to_packed, 2), context.products});
        !done)
        return done.failure();
    const tensor packed_gradient = to_packed.reshaped({rows, 3 * width_});
    tensor& to_input = made->inputs[0].values;
    if (auto done = context.ops.run(linear_backward{input, pass.parameters[0], packed_gradient,
                                                    pass.wanted[0] ? &to_input : nullptr,
                                                    of_weight(0), of_weight(1), context.products});
        !done)
        return done.failure();
    if (to_input)
        to_input = to_input.reshaped(attended.shape());
    if (pass.in_halves)
        made->rest.tensors = {input, packed_gradient, rows_attended, output_gradient};
    else
        made->parameters = std::move(of_weights);
    return made;
}

result<std::vector<tensor>> attention_layer::weight_gradients(compute_context& context,
                                                              weight_pass pass) const {
    auto made = allocate_weight_gradients(context, pass.parameters, false);
    if (!made)
        return made;
    for (const std::size_t p : {std::size_t{2}, std::size_t{0}})
        if (auto done = context.ops.run(
                linear_backward{pass.rest.tensors[p], pass.parameters[p], pass.rest.tensors[p + 1],
                                nullptr, &(*made)[p], &(*made)[p + 1], context.products});
            !done)
            return done.failure();
    return made;
}

} // namespace

result<std::shared_ptr<const layer>> make_attention(proto::Attention::Reader description,
                                                    const tensor_shape& input) {
    if (input.rank() != 2)
        return error{errc::usage,
                     "needs an input of [positions, width], but gets " + to_string(input)};
    const std::size_t heads = description.getHeads();
    if (heads == 0 || input[1] % heads != 0)
        return error{errc::usage, std::to_string(heads) + " heads do not divide the width " +
                                      std::to_string(input[1])};
    return std::shared_ptr<const layer>{std::make_shared<attention_layer>(
        input, attention_settings{.heads = heads, .causal = description.getCausal()})};
}

} // namespace troupe
