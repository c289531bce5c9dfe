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

// Checks that both passes of a cell have in common.
template <class Operation>
sequence_shapes check_cell(operand_check& check, const Operation& op) {
    constexpr bool is_lstm = requires {
        op.cells;
    };
    const recurrent_parameters& p = op.parameters;
    check.rank("input", op.input, 3).rank("weight_hh", p.weight_hh, 2);
    if (!check.ok())
        return {};
    const auto& in = op.input.shape();
    const std::size_t width = p.weight_hh.shape()[1];
    const std::size_t rows = (is_lstm ? 4 : 3) * width;
    const sequence_shapes shapes{{in[0], in[1], width}, {in[0], width}, {in[0], in[1], 4 * width}};
    check.is("input", op.input, in)
        .is("weight_ih", p.weight_ih, {rows, in[2]})
        .is("weight_hh", p.weight_hh, {rows, width})
        .is("bias_ih", p.bias_ih, {rows})
        .is("bias_hh", p.bias_hh, {rows})
        .require(in.elements() > 0 && width > 0, "an operand has no elements")
        .is("output", op.output, shapes.states)
        .is("gates", op.gates, shapes.gates);
    check_optional(check, "initial_state", op.initial_state, shapes.state);
    if constexpr (is_lstm) {
        check.is("cells", op.cells, shapes.states);
        check_optional(check, "initial_cell", op.initial_cell, shapes.state);
    }
    return shapes;
}

template <class Operation>
void check_gradients(operand_check& check, const Operation& op, const sequence_shapes& shapes) {
    check_optional(check, "output_gradient", op.output_gradient, shapes.states);
    check_optional(check, "final_state_gradient", op.final_state_gradient, shapes.state);
    if (check.ok())
        check_recurrent_gradients(check, op.gradients, op.input, op.parameters);
}

} // namespace

result<void> gru_forward::check() const {
    operand_check check{"gru_forward"};
    const auto shapes = check_cell(check, *this);
    check_optional(check, "final_state", final_state, shapes.state);
    return check.outcome();
}

result<void> gru_backward::check() const {
    operand_check check{"gru_backward"};
    const auto shapes = check_cell(check, *this);
    check_gradients(check, *this, shapes);
    return check.outcome();
}

result<void> lstm_forward::check() const {
    operand_check check{"lstm_forward"};
    const auto shapes = check_cell(check, *this);
    check_optional(check, "final_state", final_state, shapes.state);
    check_optional(check, "final_cell", final_cell, shapes.state);
    return check.outcome();
}

result<void> lstm_backward::check() const {
    operand_check check{"lstm_backward"};
    const auto shapes = check_cell(check, *this);
    check_gradients(check, *this, shapes);
    check_optional(check, "initial_cell_gradient", initial_cell_gradient, shapes.state);
    check_optional(check, "final_cell_gradient", final_cell_gradient, shapes.state);
    return check.outcome();
}

} // namespace troupe
