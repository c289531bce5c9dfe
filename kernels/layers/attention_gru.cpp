#include <cmath>

#include "kernels/layers/kinds.hpp"

namespace troupe {

namespace {

constexpr std::int32_t padding = 0; // the token that fills a source up

// Parameters in their order; names as of a PyTorch module with a GRUCell `cell` of the input with the context behind it, and
// Linears `query` of the state before (no bias), `key` of the encoder's outputs and `score` (no bias).
enum parameter {
    weight_ih,
    weight_hh,
    bias_ih,
    bias_hh,
    query_weight,
    key_weight,
    key_bias,
    score_weight
};

// Tensors that the forward pass saves, in its order.
enum kept_tensor {
    kept_input,
    kept_memory,
    kept_keys,
    kept_lengths,
    kept_states,
    kept_contexts,
    kept_shares,
    kept_gates
};

class attention_gru_layer final : public layer {
  public:
    attention_gru_layer(const tensor_shape& input, const tensor_shape& encoded,
                        proto::AttentionGru::Reader description)
        : positions_{input[0]}, features_{input[1]}, source_{encoded[0]}, memory_{encoded[1]},
          width_{description.getOut()}, attention_{description.getAttention()} {}

    std::string_view kind() const noexcept override { return "attention_gru"; }
    value_form output() const noexcept override { return numbers({positions_, width_}); }
    // A tangent counts as some twenty.
    double forward_flops() const noexcept override {
        const auto of_position =
            2.0 * static_cast<double>(3 * width_ * (features_ + memory_ + width_) +
                                      width_ * attention_ + source_ * memory_) +
            22.0 * static_cast<double>(source_ * attention_);
        return static_cast<double>(positions_) * of_position +
               2.0 * static_cast<double>(source_ * memory_ * attention_);
    }
    double backward_flops(bool) const noexcept override { return 2 * forward_flops(); }
    kept_values kept() const noexcept override {
        const std::size_t numbers =
            source_ * attention_ + positions_ * (memory_ + source_ + 4 * width_);
        return {.inputs = 2, .output = true, .more_bytes = (numbers + 1) * sizeof(float)};
    }
    std::vector<parameter_info> parameters() const override {
        const auto of_cell = [&](const char* name, const tensor_shape& shape) {
            return parameter_info{.name = name,
                                  .shape = shape,
                                  .initial_deviation =
                                      1 / std::sqrt(3 * static_cast<double>(width_))};
        };
        return {of_cell("cell.weight_ih", {3 * width_, features_ + memory_}),
                of_cell("cell.weight_hh", {3 * width_, width_}),
                of_cell("cell.bias_ih", {3 * width_}),
                of_cell("cell.bias_hh", {3 * width_}),
                {.name = "query.weight", .shape = {attention_, width_}, .fan_in = width_},
                {.name = "key.weight", .shape = {attention_, memory_}, .fan_in = memory_},
                {.name = "key.bias", .shape = {attention_}},
                {.name = "score.weight", .shape = {1, attention_}, .fan_in = attention_}};
    }

    result<activation> forward(compute_context& context, forward_pass pass,
                               saved_layer& saved) const override;
    result<gradients> backward(compute_context& context, backward_pass pass) const override;

  private:
    static recurrent_parameters cell_of(std::span<const tensor> p) {
        return {p[weight_ih], p[weight_hh], p[bias_ih], p[bias_hh]};
    }
    tensor_shape keys(std::size_t samples) const { return {samples, source_, attention_}; }

    std::size_t positions_;
    std::size_t features_;
    std::size_t source_; // positions of the encoder
    std::size_t memory_; // numbers that the encoder gives for each
    std::size_t width_;
    std::size_t attention_;
};

result<activation> attention_gru_layer::forward(compute_context& context, forward_pass pass,
                                                saved_layer& saved) const {
    const tensor& memory = pass.inputs[1].values;
    const tensor& tokens = pass.inputs[2].values;
    const std::size_t samples = tokens.shape()[0];
    const auto& p = pass.parameters;
    auto length = tensor::allocate(context.memory, data_type::int32, {samples});
    if (!length)
        return length.failure();
    auto made = allocate_all(context, {{samples * source_, attention_},
                                       {samples, positions_, width_},
                                       {samples, positions_, memory_},
                                       {samples, positions_, source_},
                                       {samples, positions_, 4 * width_}});
    if (!made)
        return made.failure();
    auto& [key_rows, state, read, share, gate] = *made;
    if (auto done = context.ops.run(sequence_lengths{tokens, padding, *length}); !done)
        return done.failure();
    if (auto done = context.ops.run(linear_forward{memory.reshaped({samples * source_, memory_}),
                                                   p[key_weight], &p[key_bias], key_rows,
                                                   context.products});
        !done)
        return done.failure();
    const tensor key = key_rows.reshaped(keys(samples));
    if (auto done = context.ops.run(attention_gru_forward{
            .input = pass.inputs[0].values,
            .cell = cell_of(p),
            .initial_state = nullptr,
            .memory = {memory, key, &*length},
            .attention = {p[query_weight], p[score_weight].reshaped({attention_})},
            .output = state,
            .contexts = read,
            .shares = share,
            .gates = gate,
            .products = context.products});
        !done)
        return done.failure();
    saved.tensors = {pass.inputs[0].values, memory, key, *length, state, read, share, gate};
    return activation{state};
}

result<layer::gradients> attention_gru_layer::backward(compute_context& context,
                                                       backward_pass pass) const {
    const auto& kept = pass.saved.tensors;
    const auto& p = pass.parameters;
    const std::size_t rows = kept[kept_memory].shape()[0] * source_;
    auto made = allocate_gradients(context, pass);
    if (!made)
        return made.failure();
    made->inputs.resize(3);
    auto between = allocate_all(
        context, {kept[kept_memory].shape(), kept[kept_memory].shape(), kept[kept_keys].shape()});
    if (!between)
        return between.failure();
    auto& [to_memory, by_keys, to_keys] = *between;
    auto& g = made->parameters;
    tensor to_score = g[score_weight].reshaped({attention_});
    if (auto done = context.ops.run(attention_gru_backward{
            .input = kept[kept_input],
            .cell = cell_of(p),
            .initial_state = nullptr,
            .memory = {kept[kept_memory], kept[kept_keys], &kept[kept_lengths]},
            .attention = {p[query_weight], p[score_weight].reshaped({attention_})},
            .output = kept[kept_states],
            .contexts = kept[kept_contexts],
            .shares = kept[kept_shares],
            .gates = kept[kept_gates],
            .output_gradient = pass.output_gradient.values,
            .contexts_gradient = nullptr,
            .cell_gradients = {pass.wanted[0] ? &made->inputs[0].values : nullptr, g[weight_ih],
                               g[weight_hh], g[bias_ih], g[bias_hh]},
            .attention_gradients = {to_memory, to_keys, g[query_weight], to_score},
            .products = context.products});
        !done)
        return done.failure();
    tensor rows_by_keys = by_keys.reshaped({rows, memory_});
    if (auto done = context.ops.run(
            linear_backward{kept[kept_memory].reshaped({rows, memory_}), p[key_weight],
                            to_keys.reshaped({rows, attention_}), &rows_by_keys, &g[key_weight],
                            &g[key_bias], context.products});
        !done)
        return done.failure();
    if (auto done = context.ops.run(add_scaled{to_memory, 1, by_keys, to_memory}); !done)
        return done.failure();
    if (pass.wanted[1])
        made->inputs[1].values = std::move(to_memory);
    return made;
}

} // namespace

result<std::shared_ptr<const layer>> make_attention_gru(proto::AttentionGru::Reader description,
                                                        const value_form& input,
                                                        const value_form& encoded,
                                                        const value_form& source) {
    if (input.type != data_type::float32 || input.shape.rank() != 2)
        return error{errc::usage, "takes sequences, (positions, features), but its input is " +
                                      to_string(input.shape)};
    if (encoded.type != data_type::float32 || encoded.shape.rank() != 2 ||
        encoded.shape[0] != source.shape[0])
        return error{errc::usage, "reads numbers for each of the " +
                                      std::to_string(source.shape[0]) +
                                      " positions of the source, but the encoder gives " +
                                      to_string(encoded.shape)};
    if (description.getOut() == 0 || description.getAttention() == 0)
        return error{errc::usage, "out and attention must be at least 1"};
    return std::shared_ptr<const layer>{
        std::make_shared<attention_gru_layer>(input.shape, encoded.shape, description)};
}

} // namespace troupe
