#include <cmath>

#include "kernels/layers/kinds.hpp"

namespace troupe {

namespace {

result<std::vector<tensor>> allocate_all(compute_context& context,
                                         const std::vector<tensor_shape>& shapes) {
    std::vector<tensor> all;
    for (const auto& shape : shapes) {
        auto made = tensor::allocate(context.memory, data_type::float32, shape);
        if (!made)
            return made.failure();
        all.push_back(std::move(*made));
    }
    return all;
}

recurrent_parameters cell_of(std::span<const tensor> parameters) {
    return {parameters[0], parameters[1], parameters[2], parameters[3]};
}

// gru or lstm over the positions of a sequence, from a state of zeros.
class recurrent_layer final : public layer {
  public:
    recurrent_layer(recurrent_kind kind, const tensor_shape& input, std::size_t width, bool last)
        : kind_{kind}, positions_{input[0]}, features_{input[1]}, width_{width}, last_{last} {}

    std::string_view kind() const noexcept override { return is_lstm() ? "lstm" : "gru"; }
    value_form output() const noexcept override {
        return numbers(last_ ? tensor_shape{width_} : tensor_shape{positions_, width_});
    }
    double forward_flops() const noexcept override {
        return 2.0 * static_cast<double>(positions_ * rows() * (features_ + width_));
    }
    double backward_flops(bool) const noexcept override { return 2 * forward_flops(); }
    // Gates, cells of an lstm, and all states where the output is the last alone.
    kept_values kept() const noexcept override {
        const std::size_t numbers = 4 + (is_lstm() ? 1 : 0) + (last_ ? 1 : 0);
        return {.inputs = 1,
                .output = true,
                .more_bytes = numbers * positions_ * width_ * sizeof(float)};
    }
    // Names and the deviation of first values are PyTorch's; biases have them, too.
    std::vector<parameter_info> parameters() const override {
        const auto parameter = [&](const char* name, const tensor_shape& shape) {
            return parameter_info{.name = name,
                                  .shape = shape,
                                  .initial_deviation =
                                      1 / std::sqrt(3 * static_cast<double>(width_))};
        };
        return {parameter("weight_ih_l0", {rows(), features_}),
                parameter("weight_hh_l0", {rows(), width_}), parameter("bias_ih_l0", {rows()}),
                parameter("bias_hh_l0", {rows()})};
    }

    result<activation> forward(compute_context& context, forward_pass pass,
                               saved_layer& saved) const override {
        const tensor& input = pass.inputs[0].values;
        const tensor_shape states{input.shape()[0], positions_, width_};
        std::vector<tensor_shape> shapes{states, {states[0], positions_, 4 * width_}};
        if (is_lstm())
            shapes.push_back(states); // cells
        if (last_)
            shapes.push_back({states[0], width_});
        auto made = allocate_all(context, shapes);
        if (!made)
            return made.failure();
        tensor* last = last_ ? &made->back() : nullptr;
        auto done = is_lstm() ? context.ops.run(lstm_forward{.input = input,
                                                             .parameters = cell_of(pass.parameters),
                                                             .initial_state = nullptr,
                                                             .initial_cell = nullptr,
                                                             .output = (*made)[0],
                                                             .cells = (*made)[2],
                                                             .gates = (*made)[1],
                                                             .final_state = last,
                                                             .products = context.products})
                              : context.ops.run(gru_forward{.input = input,
                                                            .parameters = cell_of(pass.parameters),
                                                            .initial_state = nullptr,
                                                            .output = (*made)[0],
                                                            .gates = (*made)[1],
                                                            .final_state = last,
                                                            .products = context.products});
        if (!done)
            return done.failure();
        activation output{last_ ? *last : (*made)[0]};
        saved.tensors = {input};
        saved.tensors.insert(saved.tensors.end(), made->begin(), made->end());
        return output;
    }

    result<gradients> backward(compute_context& context, backward_pass pass) const override {
        auto made = allocate_gradients(context, pass);
        if (!made)
            return made.failure();
        const auto& kept = pass.saved.tensors;
        const tensor* to_output = &pass.output_gradient.values;
        auto& p = made->parameters;
        const recurrent_gradients to{pass.wanted[0] ? &made->inputs[0].values : nullptr, p[0], p[1],
                                     p[2], p[3]};
        auto done =
            is_lstm()
                ? context.ops.run(lstm_backward{.input = kept[0],
                                                .parameters = cell_of(pass.parameters),
                                                .initial_state = nullptr,
                                                .initial_cell = nullptr,
                                                .output = kept[1],
                                                .cells = kept[3],
                                                .gates = kept[2],
                                                .output_gradient = last_ ? nullptr : to_output,
                                                .gradients = to,
                                                .final_state_gradient = last_ ? to_output : nullptr,
                                                .products = context.products})
                : context.ops.run(gru_backward{.input = kept[0],
                                               .parameters = cell_of(pass.parameters),
                                               .initial_state = nullptr,
                                               .output = kept[1],
                                               .gates = kept[2],
                                               .output_gradient = last_ ? nullptr : to_output,
                                               .gradients = to,
                                               .final_state_gradient = last_ ? to_output : nullptr,
                                               .products = context.products});
        if (!done)
            return done.failure();
        return made;
    }

  private:
    bool is_lstm() const { return kind_ == recurrent_kind::lstm; }
    std::size_t rows() const { return (is_lstm() ? 4 : 3) * width_; } // of a matrix

    recurrent_kind kind_;
    std::size_t positions_;
    std::size_t features_;
    std::size_t width_;
    bool last_;
};

} // namespace

result<std::shared_ptr<const layer>> make_recurrent(recurrent_kind kind,
                                                    proto::Recurrent::Reader description,
                                                    const tensor_shape& input) {
    if (input.rank() != 2)
        return error{errc::usage, "takes sequences, (positions, features), but its input is " +
                                      to_string(input)};
    if (description.getOut() == 0)
        return error{errc::usage, "out must be at least 1"};
    return std::shared_ptr<const layer>{std::make_shared<recurrent_layer>(
        kind, input, description.getOut(), description.getLast())};
}

} // namespace troupe
