#include <cmath>
#include <span>

#include "kernels/reference/elements.hpp"
#include "kernels/reference/reference_operations.hpp"

namespace troupe {

namespace {

// A row of a matrix, or of a sequence (samples, positions, width).
std::span<const float> row_of(const tensor& t, std::size_t row) {
    const std::size_t width = t.shape().dimensions().back();
    return t.values<float>().subspan(row * width, width);
}

// The row of a sample, or zeros.
std::vector<double> state_of(const tensor* states, std::size_t sample, std::size_t width) {
    if (states == nullptr)
        return zeros(width);
    const auto row = row_of(*states, sample);
    return {row.begin(), row.end()};
}

// The state of a sample behind the position before `row`.
std::vector<double> state_before(const tensor& states, const tensor* initial, std::size_t row) {
    const std::size_t positions = states.shape()[1];
    const std::size_t width = states.shape()[2];
    if (row % positions == 0)
        return state_of(initial, row / positions, width);
    const auto before = row_of(states, row - 1);
    return {before.begin(), before.end()};
}

// W x + b, one row.
template <class Vector>
double product(const tensor& weight, const tensor& bias, std::size_t row, const Vector& x,
               precision products) {
    double sum = double{bias.values<float>()[row]};
    const auto w = row_of(weight, row);
    for (std::size_t i = 0; i < w.size(); ++i)
        sum += factor(double{w[i]}, products) * factor(static_cast<double>(x[i]), products);
    return sum;
}

// Gradients as sums over samples and positions.
struct gradient_sums {
    const tensor& input;
    const recurrent_parameters& p;
    precision products;
    std::vector<double> weight_ih = zeros(p.weight_ih.elements());
    std::vector<double> weight_hh = zeros(p.weight_hh.elements());
    std::vector<double> bias_ih = zeros(p.bias_ih.elements());
    std::vector<double> bias_hh = zeros(p.bias_hh.elements());
    std::vector<double> to_input = zeros(input.elements());

    // Adds what follows from the gradients of W_ih x + b_ih and of W_hh h + b_hh in one row of the matrices, at the
    // position `at` of all; the share of the state before it goes to `to_previous`.
    void add(std::size_t row, double of_ih, double of_hh, std::size_t at,
             const std::vector<double>& previous, std::vector<double>& to_previous) {
        const auto x = row_of(input, at);
        const auto w_ih = row_of(p.weight_ih, row);
        const auto w_hh = row_of(p.weight_hh, row);
        bias_ih[row] += of_ih;
        bias_hh[row] += of_hh;
        const auto rounded = [&](double number) { return factor(number, products); };
        const double ih = rounded(of_ih), hh = rounded(of_hh);
        for (std::size_t i = 0; i < x.size(); ++i) {
            weight_ih[row * x.size() + i] += ih * rounded(double{x[i]});
            to_input[at * x.size() + i] += ih * rounded(double{w_ih[i]});
        }
        for (std::size_t i = 0; i < previous.size(); ++i) {
            weight_hh[row * previous.size() + i] += hh * rounded(previous[i]);
            to_previous[i] += hh * rounded(double{w_hh[i]});
        }
    }

    void round_into(const recurrent_gradients& g) const {
        troupe::round_into(weight_ih, g.weight_ih);
        troupe::round_into(weight_hh, g.weight_hh);
        troupe::round_into(bias_ih, g.bias_ih);
        troupe::round_into(bias_hh, g.bias_hh);
        if (g.input != nullptr)
            troupe::round_into(to_input, *g.input);
    }
};

void set_row(tensor* to, std::size_t row, const std::vector<double>& values) {
    if (to != nullptr)
        for (std::size_t i = 0; i < values.size(); ++i)
            set(*to, row * values.size() + i, values[i]);
}

} // namespace

result<void> reference_operations::compute(const gru_forward& op) {
    const std::size_t positions = op.output.shape()[1];
    const std::size_t width = op.output.shape()[2];
    const auto& p = op.parameters;
    for (std::size_t s = 0; s < op.output.shape()[0]; ++s) {
        auto h = state_of(op.initial_state, s, width);
        for (std::size_t at = s * positions; at < (s + 1) * positions; ++at) {
            const auto previous = h;
            for (std::size_t j = 0; j < width; ++j) {
                const auto ih = [&](std::size_t gate) {
                    return product(p.weight_ih, p.bias_ih, gate * width + j, row_of(op.input, at),
                                   op.products);
                };
                const auto hh = [&](std::size_t gate) {
                    return product(p.weight_hh, p.bias_hh, gate * width + j, previous, op.products);
                };
                const double r = logistic(ih(0) + hh(0));
                const double z = logistic(ih(1) + hh(1));
                const double hn = hh(2);
                const double n = std::tanh(ih(2) + r * hn);
                h[j] = (1 - z) * n + z * previous[j];
                set(op.output, at * width + j, h[j]);
                const double kept[] = {r, z, n, hn};
                for (std::size_t gate = 0; gate < 4; ++gate)
                    set(op.gates, (at * 4 + gate) * width + j, kept[gate]);
            }
        }
        set_row(op.final_state, s, h);
    }
    return {};
}

result<void> reference_operations::compute(const gru_backward& op) {
    const std::size_t positions = op.output.shape()[1];
    const std::size_t width = op.output.shape()[2];
    gradient_sums sums{op.input, op.parameters, op.products};
    for (std::size_t s = 0; s < op.output.shape()[0]; ++s) {
        auto to_h = state_of(op.final_state_gradient, s, width); // from the positions behind
        for (std::size_t at = (s + 1) * positions; at-- > s * positions;) {
            const auto previous = state_before(op.output, op.initial_state, at);
            auto to_previous = zeros(width);
            const auto kept = row_of(op.gates, at);
            const auto to_output = state_of(op.output_gradient, at, width);
            for (std::size_t j = 0; j < width; ++j) {
                const double r = double{kept[j]}, z = double{kept[width + j]};
                const double n = double{kept[2 * width + j]}, hn = double{kept[3 * width + j]};
                const double to_state = to_h[j] + to_output[j];
                const double to_n = to_state * (1 - z) * (1 - n * n);
                const double to_z = to_state * (previous[j] - n) * z * (1 - z);
                const double to_r = to_n * hn * r * (1 - r);
                to_previous[j] += to_state * z;
                sums.add(j, to_r, to_r, at, previous, to_previous);
                sums.add(width + j, to_z, to_z, at, previous, to_previous);
                sums.add(2 * width + j, to_n, to_n * r, at, previous, to_previous);
            }
            to_h = to_previous;
        }
        set_row(op.gradients.initial_state, s, to_h);
    }
    sums.round_into(op.gradients);
    return {};
}

result<void> reference_operations::compute(const lstm_forward& op) {
    const std::size_t positions = op.output.shape()[1];
    const std::size_t width = op.output.shape()[2];
    const auto& p = op.parameters;
    for (std::size_t s = 0; s < op.output.shape()[0]; ++s) {
        auto h = state_of(op.initial_state, s, width);
        auto c = state_of(op.initial_cell, s, width);
        for (std::size_t at = s * positions; at < (s + 1) * positions; ++at) {
            const auto previous = h;
            for (std::size_t j = 0; j < width; ++j) {
                const auto sum = [&](std::size_t gate) {
                    const std::size_t row = gate * width + j;
                    return product(p.weight_ih, p.bias_ih, row, row_of(op.input, at), op.products) +
                           product(p.weight_hh, p.bias_hh, row, previous, op.products);
                };
                const double gates[] = {logistic(sum(0)), logistic(sum(1)), std::tanh(sum(2)),
                                        logistic(sum(3))};
                c[j] = gates[1] * c[j] + gates[0] * gates[2];
                h[j] = gates[3] * std::tanh(c[j]);
                set(op.output, at * width + j, h[j]);
                set(op.cells, at * width + j, c[j]);
                for (std::size_t gate = 0; gate < 4; ++gate)
                    set(op.gates, (at * 4 + gate) * width + j, gates[gate]);
            }
        }
        set_row(op.final_state, s, h);
        set_row(op.final_cell, s, c);
    }
    return {};
}

result<void> reference_operations::compute(const lstm_backward& op) {
    const std::size_t positions = op.output.shape()[1];
    const std::size_t width = op.output.shape()[2];
    gradient_sums sums{op.input, op.parameters, op.products};
    for (std::size_t s = 0; s < op.output.shape()[0]; ++s) {
        auto to_h = state_of(op.final_state_gradient, s, width); // from the positions behind
        auto to_c = state_of(op.final_cell_gradient, s, width);
        for (std::size_t at = (s + 1) * positions; at-- > s * positions;) {
            const auto previous = state_before(op.output, op.initial_state, at);
            const auto previous_cell = state_before(op.cells, op.initial_cell, at);
            auto to_previous = zeros(width);
            const auto kept = row_of(op.gates, at);
            const auto to_output = state_of(op.output_gradient, at, width);
            for (std::size_t j = 0; j < width; ++j) {
                const double i = double{kept[j]}, f = double{kept[width + j]};
                const double g = double{kept[2 * width + j]}, o = double{kept[3 * width + j]};
                const double t = std::tanh(double{row_of(op.cells, at)[j]});
                const double to_state = to_h[j] + to_output[j];
                const double to_cell = to_c[j] + to_state * o * (1 - t * t);
                const double to_gates[] = {to_cell * g * i * (1 - i),
                                           to_cell * previous_cell[j] * f * (1 - f),
                                           to_cell * i * (1 - g * g), to_state * t * o * (1 - o)};
                to_c[j] = to_cell * f;
                for (std::size_t gate = 0; gate < 4; ++gate)
                    sums.add(gate * width + j, to_gates[gate], to_gates[gate], at, previous,
                             to_previous);
            }
            to_h = to_previous;
        }
        set_row(op.gradients.initial_state, s, to_h);
        set_row(op.initial_cell_gradient, s, to_c);
    }
    sums.round_into(op.gradients);
    return {};
}

} // namespace troupe
