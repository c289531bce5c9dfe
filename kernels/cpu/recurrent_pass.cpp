#include "kernels/cpu/recurrent_pass.hpp"

#include <algorithm>

#include "kernels/cpu/floats.hpp"

namespace troupe::cpu {

sample_rows<const float> at_or_zero(const sequence_sizes& n, const tensor* gradient,
                                    std::size_t position, const float* zeros) {
    if (gradient == nullptr)
        return {zeros, 0};
    return at(n, floats(*gradient), position, n.width);
}

void copy_or_zero(const tensor* from, float* to, std::size_t count) {
    if (from != nullptr)
        std::copy_n(floats(*from), count, to);
    else
        std::fill_n(to, count, 0.f);
}

void copy_if_wanted(const float* from, std::size_t count, tensor* to) {
    if (to != nullptr)
        std::copy_n(from, count, floats(*to));
}

void shift(const sequence_sizes& n, const float* states, const tensor* initial, float* to) {
    for (std::size_t s = 0; s < n.samples; ++s, states += n.positions * n.width) {
        if (initial != nullptr)
            std::copy_n(floats(*initial) + s * n.width, n.width, to);
        else
            std::fill_n(to, n.width, 0.f);
        to = std::copy_n(states, (n.positions - 1) * n.width, to + n.width);
    }
}

void multiply_input(const multiplier& multiply, const sequence_sizes& n, const tensor& input,
                    const tensor& weight_ih, float* gates) {
    multiply({.m = n.rows(),
              .n = weight_ih.shape()[0],
              .k = n.features,
              .a = {floats(input), n.features},
              .b = {floats(weight_ih), weight_ih.shape()[1], true},
              .c = gates,
              .c_stride = 4 * n.width});
}

void multiply_state(const multiplier& multiply, const sequence_sizes& n, const tensor& weight_hh,
                    const float* state, float* product) {
    const std::size_t rows = weight_hh.shape()[0];
    multiply({.m = n.samples,
              .n = rows,
              .k = n.width,
              .a = {state, n.width},
              .b = {floats(weight_hh), n.width, true},
              .c = product,
              .c_stride = rows});
}

void multiply_back(const multiplier& multiply, const sequence_sizes& n, const tensor& weight_hh,
                   const float* to_product, float beta, float* to_state) {
    const std::size_t rows = weight_hh.shape()[0];
    multiply({.m = n.samples,
              .n = n.width,
              .k = rows,
              .a = {to_product, rows},
              .b = {floats(weight_hh), n.width},
              .beta = beta,
              .c = to_state,
              .c_stride = n.width});
}

void multiply_gates(const multiplier& multiply, const sequence_sizes& n, const float* to_gates,
                    std::size_t first, std::size_t columns, const float* factor, std::size_t width,
                    float* gradient, std::size_t gradient_stride) {
    multiply({.m = columns,
              .n = width,
              .k = n.rows(),
              .a = {to_gates + first, 4 * n.width, true},
              .b = {factor, width},
              .c = gradient,
              .c_stride = gradient_stride});
}

void input_gradients(const multiplier& multiply, const sequence_sizes& n, const float* to_gates,
                     const tensor& input, const tensor& weight_ih, tensor& weight_gradient,
                     tensor* input_gradient) {
    const std::size_t rows = weight_ih.shape()[0];
    const std::size_t columns = weight_ih.shape()[1];
    multiply_gates(multiply, n, to_gates, 0, rows, floats(input), n.features,
                   floats(weight_gradient), columns);
    if (input_gradient != nullptr)
        multiply({.m = n.rows(),
                  .n = n.features,
                  .k = rows,
                  .a = {to_gates, 4 * n.width},
                  .b = {floats(weight_ih), columns},
                  .c = floats(*input_gradient),
                  .c_stride = n.features});
}

gru_backward_pass::gru_backward_pass(const multiplier& multiply, const recurrent_loops& loops,
                                     const sequence_sizes& sizes,
                                     const recurrent_parameters& parameters,
                                     const tensor* initial_state, const tensor& output,
                                     const tensor& gates, const tensor* output_gradient,
                                     const tensor* final_state_gradient)
    : previous{multiply.pool, sizes.rows() * sizes.width}, to_gates{multiply.pool,
                                                                    4 * sizes.rows() * sizes.width},
      to_state{multiply.pool, sizes.states()}, multiply_{multiply}, loops_{loops}, n_{sizes},
      parameters_{parameters}, gates_{gates}, output_gradient_{output_gradient},
      to_product_{multiply.pool, 3 * sizes.states()}, to_bias_{multiply.pool, 4 * sizes.width},
      zeros_{multiply.pool, sizes.width} {
    shift(n_, floats(output), initial_state, previous);
    copy_or_zero(final_state_gradient, to_state, n_.states());
    to_bias_.zero();
    zeros_.zero();
}

void gru_backward_pass::step(std::size_t t) {
    loops_.gru_backward({.samples = n_.samples,
                         .width = n_.width,
                         .gates = at(n_, floats(gates_), t, 4 * n_.width),
                         .previous = at<const float>(n_, previous, t, n_.width),
                         .output_gradient = at_or_zero(n_, output_gradient_, t, zeros_),
                         .to_state = to_state,
                         .to_gates = at<float>(n_, to_gates, t, 4 * n_.width),
                         .to_product = to_product_,
                         .to_bias = to_bias_});
    multiply_back(multiply_, n_, parameters_.weight_hh, to_product_, 1, to_state);
}

void gru_backward_pass::finish(const recurrent_gradients& gradients) const {
    const std::size_t width = n_.width;
    float* weight = floats(gradients.weight_hh);
    multiply_gates(multiply_, n_, to_gates, 0, 2 * width, previous, width, weight, width);
    multiply_gates(multiply_, n_, to_gates, 3 * width, width, previous, width,
                   weight + 2 * width * width, width);
    std::copy_n(+to_bias_, 3 * width, floats(gradients.bias_ih));
    std::copy_n(+to_bias_, 2 * width, floats(gradients.bias_hh));
    std::copy_n(to_bias_ + 3 * width, width, floats(gradients.bias_hh) + 2 * width);
    copy_if_wanted(to_state, n_.states(), gradients.initial_state);
}

} // namespace troupe::cpu
