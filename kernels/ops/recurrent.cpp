#include "kernels/ops/recurrent.hpp"

#include "kernels/ops/operand_check.hpp"
#include "kernels/ops/recurrent_check.hpp"

namespace troupe {

namespace {

// The shapes of one pass.
struct sequence_shapes {
    tensor_shape states; // (samples, positions, width)
    tensor_shape state;  // (samples, width)
    tensor_shape gates;  // (samples, positions, 4 * width)
};

sequence_shapes check_sequences(operand_check& check, const tensor& input,
                                const recurrent_parameters& p, std::size_t gates,
                                const tensor* initial_state) {
    check.rank("input", input, 3).rank("weight_hh", p.weight_hh, 2);
    if (!check.ok())
        return {};
    const auto& in = input.shape();
    const std::size_t width = p.weight_hh.shape()[1];
    const std::size_t rows = gates * width;
    check.is("input", input, in)
        .is("weight_ih", p.weight_ih, {rows, in[2]})
        .is("weight_hh", p.weight_hh, {rows, width})
        .is("bias_ih", p.bias_ih, {rows})
        .is("bias_hh", p.bias_hh, {rows})
        .require(in.elements() > 0 && width > 0, "an operand has no elements");
    const sequence_shapes shapes{{in[0], in[1], width}, {in[0], width}, {in[0], in[1], 4 * width}};
    check_optional(check, "initial_state", initial_state, shapes.state);
    return shapes;
}

} // namespace

result<void> gru_forward::check() const {
    operand_check check{"gru_forward"};
    const auto shapes = check_sequences(check, input, parameters, 3, initial_state);
    if (check.ok())
        check.is("output", output, shapes.states).is("gates", gates, shapes.gates);
    check_optional(check, "final_state", final_state, shapes.state);
    return check.outcome();
}

result<void> gru_backward::check() const {
    operand_check check{"gru_backward"};
    const auto shapes = check_sequences(check, input, parameters, 3, initial_state);
    if (check.ok())
        check.is("output", output, shapes.states).is("gates", gates, shapes.gates);
    check_optional(check, "output_gradient", output_gradient, shapes.states);
    check_optional(check, "final_state_gradient", final_state_gradient, shapes.state);
    if (check.ok())
        check_recurrent_gradients(check, gradients, input, parameters);
    return check.outcome();
}

result<void> lstm_forward::check() const {
    operand_check check{"lstm_forward"};
    const auto shapes = check_sequences(check, input, parameters, 4, initial_state);
    check_optional(check, "initial_cell", initial_cell, shapes.state);
    if (check.ok())
        check.is("output", output, shapes.states)
            .is("cells", cells, shapes.states)
            .is("gates", gates, shapes.gates);
    check_optional(check, "final_state", final_state, shapes.state);
    check_optional(check, "final_cell", final_cell, shapes.state);
    return check.outcome();
}

result<void> lstm_backward::check() const {
    operand_check check{"lstm_backward"};
    const auto shapes = check_sequences(check, input, parameters, 4, initial_state);
    check_optional(check, "initial_cell", initial_cell, shapes.state);
    if (check.ok())
        check.is("output", output, shapes.states)
            .is("cells", cells, shapes.states)
            .is("gates", gates, shapes.gates);
    check_optional(check, "output_gradient", output_gradient, shapes.states);
    check_optional(check, "final_state_gradient", final_state_gradient, shapes.state);
    if (check.ok())
        check_recurrent_gradients(check, gradients, input, parameters);
    check_optional(check, "initial_cell_gradient", initial_cell_gradient, shapes.state);
    check_optional(check, "final_cell_gradient", final_cell_gradient, shapes.state);
    return check.outcome();
}

} // namespace troupe
