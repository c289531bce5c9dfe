// The products of the input with its weights are one for all positions. A position then takes a product of its state with
// weight_hh and one loop over the gates.
#include "kernels/cpu/recurrent_loops.hpp"

#include <algorithm>

#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/cpu/floats.hpp"
#include "kernels/cpu/guarded.hpp"
#include "kernels/cpu/matrix_product.hpp"

namespace troupe {

using cpu::floats;
using cpu::matrix_product;

namespace {

struct sequence_sizes {
    std::size_t samples, positions, features, width;

    sequence_sizes(const tensor& input, const tensor& states)
        : samples{input.shape()[0]}, positions{input.shape()[1]}, features{input.shape()[2]},
          width{states.shape()[2]} {}

    std::size_t rows() const { return samples * positions; }
    std::size_t states() const { return samples * width; } // floats of a position
};

class float_scratch {
  public:
    float_scratch(memory_pool& pool, std::size_t count) : memory_{pool, count * sizeof(float)} {}
    operator float*() const { return memory_.floats(); }

  private:
    cpu::scratch memory_;
};

void copy_or_zero(const tensor* from, float* to, std::size_t count) {
    if (from != nullptr)
        std::copy_n(floats(*from), count, to);
    else
        std::fill_n(to, count, 0.f);
}

// (samples, positions, width): the state before each position.
void shift(const sequence_sizes& n, const float* states, const tensor* initial, float* to) {
    for (std::size_t s = 0; s < n.samples; ++s, states += n.positions * n.width) {
        if (initial != nullptr)
            std::copy_n(floats(*initial) + s * n.width, n.width, to);
        else
            std::fill_n(to, n.width, 0.f);
        to = std::copy_n(states, (n.positions - 1) * n.width, to + n.width);
    }
}

// The rows of one position of (samples, positions, width).
template <class Float>
cpu::sample_rows<Float> at(const sequence_sizes& n, Float* values, std::size_t position,
                           std::size_t width) {
    return {values + position * width, n.positions * width};
}

// The first columns of `gates`, 4 * width wide: products of the input with all rows of weight_ih.
void multiply_inputs(const sequence_sizes& n, const tensor& input, const recurrent_parameters& p,
                     float* gates) {
    matrix_product{.m = n.rows(),
                   .n = p.weight_ih.shape()[0],
                   .k = n.features,
                   .a = {floats(input), n.features},
                   .b = {floats(p.weight_ih), n.features, true},
                   .c = gates,
                   .c_stride = 4 * n.width}
        .run();
}

// product = state * weight_hh transposed
void multiply_state(const sequence_sizes& n, const recurrent_parameters& p, const float* state,
                    float* product) {
    const std::size_t rows = p.weight_hh.shape()[0];
    matrix_product{.m = n.samples,
                   .n = rows,
                   .k = n.width,
                   .a = {state, n.width},
                   .b = {floats(p.weight_hh), n.width, true},
                   .c = product,
                   .c_stride = rows}
        .run();
}

// to_state = beta * to_state + to_product * weight_hh
void multiply_back(const sequence_sizes& n, const recurrent_parameters& p, const float* to_product,
                   float beta, float* to_state) {
    const std::size_t rows = p.weight_hh.shape()[0];
    matrix_product{.m = n.samples,
                   .n = n.width,
                   .k = rows,
                   .a = {to_product, rows},
                   .b = {floats(p.weight_hh), n.width},
                   .beta = beta,
                   .c = to_state,
                   .c_stride = n.width}
        .run();
}

// gradient = transposed `columns` columns of to_gates from `first` on, times the rows of `factor`.
void multiply_gates(const sequence_sizes& n, const float* to_gates, std::size_t first,
                    std::size_t columns, const float* factor, std::size_t factor_width,
                    float* gradient) {
    matrix_product{.m = columns,
                   .n = factor_width,
                   .k = n.rows(),
                   .a = {to_gates + first, 4 * n.width, true},
                   .b = {factor, factor_width},
                   .c = gradient,
                   .c_stride = factor_width}
        .run();
}

// The gradients of the input and of its weights, from the first columns of to_gates.
void input_gradients(const sequence_sizes& n, const tensor& input, const recurrent_parameters& p,
                     const float* to_gates, const recurrent_gradients& gradients) {
    const std::size_t rows = p.weight_ih.shape()[0];
    multiply_gates(n, to_gates, 0, rows, floats(input), n.features, floats(gradients.weight_ih));
    if (gradients.input != nullptr)
        matrix_product{.m = n.rows(),
                       .n = n.features,
                       .k = rows,
                       .a = {to_gates, 4 * n.width},
                       .b = {floats(p.weight_ih), n.features},
                       .c = floats(*gradients.input),
                       .c_stride = n.features}
            .run();
}

} // namespace

result<void> cpu_operations::compute(const gru_forward& op) {
    return cpu::guarded([&] {
        const sequence_sizes n{op.input, op.output};
        const float_scratch state{pool_, n.states()}, product{pool_, 3 * n.states()};
        multiply_inputs(n, op.input, op.parameters, floats(op.gates));
        copy_or_zero(op.initial_state, state, n.states());
        for (std::size_t t = 0; t < n.positions; ++t) {
            multiply_state(n, op.parameters, state, product);
            recurrent_loops_.gru_forward({.samples = n.samples,
                                          .width = n.width,
                                          .bias_ih = floats(op.parameters.bias_ih),
                                          .bias_hh = floats(op.parameters.bias_hh),
                                          .product = product,
                                          .gates = at(n, floats(op.gates), t, 4 * n.width),
                                          .state = state,
                                          .output = at(n, floats(op.output), t, n.width)});
        }
    });
}

result<void> cpu_operations::compute(const gru_backward& op) {
    return cpu::guarded([&] {
        const sequence_sizes n{op.input, op.output};
        const float_scratch previous{pool_, n.rows() * n.width},
            to_gates{pool_, 4 * n.rows() * n.width}, to_product{pool_, 3 * n.states()},
            to_state{pool_, n.states()}, to_bias{pool_, 4 * n.width};
        shift(n, floats(op.output), op.initial_state, previous);
        std::fill_n(+to_state, n.states(), 0.f);
        std::fill_n(+to_bias, 4 * n.width, 0.f);
        for (std::size_t t = n.positions; t-- > 0;) {
            recurrent_loops_.gru_backward(
                {.samples = n.samples,
                 .width = n.width,
                 .gates = at(n, floats(op.gates), t, 4 * n.width),
                 .previous = at<const float>(n, previous, t, n.width),
                 .output_gradient = at(n, floats(op.output_gradient), t, n.width),
                 .to_state = to_state,
                 .to_gates = at<float>(n, to_gates, t, 4 * n.width),
                 .to_product = to_product,
                 .to_bias = to_bias});
            multiply_back(n, op.parameters, to_product, 1, to_state);
        }
        const auto& g = op.gradients;
        input_gradients(n, op.input, op.parameters, to_gates, g);
        float* weight_hh = floats(g.weight_hh);
        multiply_gates(n, to_gates, 0, 2 * n.width, previous, n.width, weight_hh);
        multiply_gates(n, to_gates, 3 * n.width, n.width, previous, n.width,
                       weight_hh + 2 * n.width * n.width);
        std::copy_n(+to_bias, 3 * n.width, floats(g.bias_ih));
        std::copy_n(to_bias + 3 * n.width, n.width,
                    std::copy_n(+to_bias, 2 * n.width, floats(g.bias_hh)));
        if (g.initial_state != nullptr)
            std::copy_n(+to_state, n.states(), floats(*g.initial_state));
    });
}

result<void> cpu_operations::compute(const lstm_forward& op) {
    return cpu::guarded([&] {
        const sequence_sizes n{op.input, op.output};
        const float_scratch state{pool_, n.states()}, cell{pool_, n.states()},
            product{pool_, 4 * n.states()};
        multiply_inputs(n, op.input, op.parameters, floats(op.gates));
        copy_or_zero(op.initial_state, state, n.states());
        copy_or_zero(op.initial_cell, cell, n.states());
        for (std::size_t t = 0; t < n.positions; ++t) {
            multiply_state(n, op.parameters, state, product);
            recurrent_loops_.lstm_forward({.samples = n.samples,
                                           .width = n.width,
                                           .bias_ih = floats(op.parameters.bias_ih),
                                           .bias_hh = floats(op.parameters.bias_hh),
                                           .product = product,
                                           .gates = at(n, floats(op.gates), t, 4 * n.width),
                                           .state = state,
                                           .cell = cell,
                                           .output = at(n, floats(op.output), t, n.width),
                                           .cells = at(n, floats(op.cells), t, n.width)});
        }
    });
}

result<void> cpu_operations::compute(const lstm_backward& op) {
    return cpu::guarded([&] {
        const sequence_sizes n{op.input, op.output};
        const float_scratch previous{pool_, n.rows() * n.width},
            to_gates{pool_, 4 * n.rows() * n.width}, to_product{pool_, 4 * n.states()},
            to_state{pool_, n.states()}, to_cell{pool_, n.states()}, to_bias{pool_, 4 * n.width};
        const float* cells = floats(op.cells);
        std::fill_n(+to_state, n.states(), 0.f);
        std::fill_n(+to_cell, n.states(), 0.f);
        std::fill_n(+to_bias, 4 * n.width, 0.f);
        shift(n, cells, op.initial_cell, previous);
        for (std::size_t t = n.positions; t-- > 0;) {
            recurrent_loops_.lstm_backward(
                {.samples = n.samples,
                 .width = n.width,
                 .gates = at(n, floats(op.gates), t, 4 * n.width),
                 .cells = at(n, cells, t, n.width),
                 .previous_cells = at<const float>(n, previous, t, n.width),
                 .output_gradient = at(n, floats(op.output_gradient), t, n.width),
                 .to_state = to_state,
                 .to_cell = to_cell,
                 .to_gates = at<float>(n, to_gates, t, 4 * n.width),
                 .to_product = to_product,
                 .to_bias = to_bias});
            multiply_back(n, op.parameters, to_product, 0, to_state);
        }
        const auto& g = op.gradients;
        input_gradients(n, op.input, op.parameters, to_gates, g);
        shift(n, floats(op.output), op.initial_state, previous);
        multiply_gates(n, to_gates, 0, 4 * n.width, previous, n.width, floats(g.weight_hh));
        std::copy_n(+to_bias, 4 * n.width, floats(g.bias_ih));
        std::copy_n(+to_bias, 4 * n.width, floats(g.bias_hh));
        if (g.initial_state != nullptr)
            std::copy_n(+to_state, n.states(), floats(*g.initial_state));
        if (op.initial_cell_gradient != nullptr)
            std::copy_n(+to_cell, n.states(), floats(*op.initial_cell_gradient));
    });
}

} // namespace troupe
