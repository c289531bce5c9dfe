#include "kernels/cuda/recurrent_pass.hpp"

#include "kernels/cuda/columns.hpp"
#include "kernels/cuda/indices.hpp"
#include "kernels/cuda/sigmoid.hpp"

namespace troupe::cuda {

namespace {

// ---- kernels ----------------------------------------------------------------------------------------------------------

template <class Index>
struct shift_pass {
    divisor<Index> by_width, by_positions;
    std::size_t width;
    const float* states;
    const float* initial; // or null
    float* to;

    __device__ void operator()(std::size_t i) const {
        const auto [row, j] = by_width.divide(static_cast<Index>(i));
        const auto [sample, position] = by_positions.divide(row);
        if (position > 0)
            to[i] = states[i - width];
        else
            to[i] = initial == nullptr ? 0 : initial[sample * width + j];
    }
};

template <class Index>
struct gru_forward_pass {
    divisor<Index> by_width;
    std::size_t width;
    gru_step t;

    __device__ void operator()(std::size_t i) const {
        const auto [s, j] = by_width.divide(static_cast<Index>(i));
        const std::size_t z = width + j, n = 2 * width + j, hn = 3 * width + j;
        const float* const product = t.product + 3 * width * s;
        float* const gates = t.gates.of(s);
        const float reset = sigmoid(gates[j] + product[j] + (t.bias_ih[j] + t.bias_hh[j]));
        const float update = sigmoid(gates[z] + product[z] + (t.bias_ih[z] + t.bias_hh[z]));
        const float of_state = product[n] + t.bias_hh[n];
        const float next = tanhf(gates[n] + t.bias_ih[n] + reset * of_state);
        const float h = next + update * (t.state[i] - next);
        gates[j] = reset;
        gates[z] = update;
        gates[n] = next;
        gates[hn] = of_state;
        t.state[i] = h;
        t.output.of(s)[j] = h;
    }
};

template <class Index>
struct gru_backward_step {
    divisor<Index> by_width;
    std::size_t width;
    sample_rows<const float> gates, previous, output_gradient;
    float* to_state; // becomes what goes straight to h[t-1]
    sample_rows<float> to_gates;
    float *to_sums, *to_product;

    __device__ void operator()(std::size_t i) const {
        const auto [s, j] = by_width.divide(static_cast<Index>(i));
        const float* const kept = gates.of(s);
        const float r = kept[j], z = kept[width + j], n = kept[2 * width + j];
        const float hn = kept[3 * width + j];
        const float dh = output_gradient.at_or_zero(s, j) + to_state[i];
        const float to_n = dh * (1 - z) * ((1 - n) * (1 + n));
        const float to_z = dh * (previous.at_or_zero(s, j) - n) * (z * (1 - z));
        const float to_r = to_n * hn * (r * (1 - r));
        const float to_hn = to_n * r;
        to_state[i] = dh * z;
        float* const g = to_gates.of(s);
        g[j] = to_r;
        g[width + j] = to_z;
        g[2 * width + j] = to_n;
        g[3 * width + j] = to_hn;
        const std::size_t row = 3 * width * s;
        to_sums[row + j] = to_product[row + j] = to_r;
        to_sums[row + width + j] = to_product[row + width + j] = to_z;
        to_sums[row + 2 * width + j] = to_n;
        to_product[row + 2 * width + j] = to_hn;
    }
};

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> copy(execution& run, const float* from, std::size_t count, float* to) {
    return checked(
        cudaMemcpyAsync(to, from, count * sizeof(float), cudaMemcpyDefault, run.stream()));
}

result<void> set_zero(execution& run, float* to, std::size_t count) {
    return checked(cudaMemsetAsync(to, 0, count * sizeof(float), run.stream()));
}

result<void> copy_or_zero(execution& run, const tensor* from, float* to, std::size_t count) {
    return from == nullptr ? set_zero(run, to, count) : copy(run, floats(*from), count, to);
}

result<void> copy_if_wanted(execution& run, const float* from, std::size_t count, tensor* to) {
    return to == nullptr ? result<void>{} : copy(run, from, count, floats(*to));
}

result<void> shift(execution& run, const sequence_sizes& n, const float* states,
                   const tensor* initial, float* to) {
    const std::size_t count = n.rows() * n.width;
    return checked(with_index({count}, [&]<class Index>(Index) {
        return launch_elements(run.stream(), count,
                               shift_pass<Index>{divisor<Index>{n.width},
                                                 divisor<Index>{n.positions}, n.width, states,
                                                 floats(initial), to});
    }));
}

result<void> cell_products::of_input(const tensor& input, float* gates) const {
    return multiply({.m = n_.rows(),
                     .n = rows_,
                     .k = n_.features,
                     .a = {floats(input), n_.features},
                     .b = {floats(parameters_.weight_ih), columns_, true},
                     .c = gates,
                     .c_stride = 4 * n_.width});
}

result<void> cell_products::of_state(const float* state, float* product) const {
    return multiply({.m = n_.samples,
                     .n = rows_,
                     .k = n_.width,
                     .a = {state, n_.width},
                     .b = {floats(parameters_.weight_hh), n_.width, true},
                     .c = product,
                     .c_stride = rows_});
}

result<void> cell_products::back(const float* to_product, float beta, float* to_state) const {
    return multiply({.m = n_.samples,
                     .n = n_.width,
                     .k = rows_,
                     .a = {to_product, rows_},
                     .b = {floats(parameters_.weight_hh), n_.width},
                     .beta = beta,
                     .c = to_state,
                     .c_stride = n_.width});
}

result<void> cell_products::of_gates(const float* to_gates, std::size_t first, std::size_t count,
                                     const float* factor, std::size_t width, float* gradient,
                                     std::size_t gradient_stride) const {
    return multiply({.m = count,
                     .n = width,
                     .k = n_.rows(),
                     .a = {to_gates + first, 4 * n_.width, true},
                     .b = {factor, width},
                     .c = gradient,
                     .c_stride = gradient_stride});
}

result<void> cell_products::input_gradients(const float* to_gates, const tensor& input,
                                            const recurrent_gradients& gradients) const {
    if (auto done = of_gates(to_gates, 0, rows_, floats(input), n_.features,
                             floats(gradients.weight_ih), columns_);
        !done || gradients.input == nullptr)
        return done;
    return multiply({.m = n_.rows(),
                     .n = n_.features,
                     .k = rows_,
                     .a = {to_gates, 4 * n_.width},
                     .b = {floats(parameters_.weight_ih), columns_},
                     .c = floats(*gradients.input),
                     .c_stride = n_.features});
}

result<void> cell_products::add_columns(std::size_t first, std::size_t count, const float* values,
                                        const sample_rows<float>& gates) const {
    return multiply({.m = n_.samples,
                     .n = rows_,
                     .k = count,
                     .a = {values, count},
                     .b = {floats(parameters_.weight_ih) + first, columns_, true},
                     .beta = 1,
                     .c = gates.first,
                     .c_stride = gates.stride});
}

result<void> cell_products::add_columns_back(std::size_t first, std::size_t count,
                                             const float* to_sums,
                                             const sample_rows<float>& to_values) const {
    return multiply({.m = n_.samples,
                     .n = count,
                     .k = rows_,
                     .a = {to_sums, rows_},
                     .b = {floats(parameters_.weight_ih) + first, columns_},
                     .beta = 1,
                     .c = to_values.first,
                     .c_stride = to_values.stride});
}

result<void> step(execution& run, const sequence_sizes& n, const gru_step& s) {
    return checked(with_index({n.states()}, [&]<class Index>(Index) {
        return launch_elements(run.stream(), n.states(),
                               gru_forward_pass<Index>{divisor<Index>{n.width}, n.width, s});
    }));
}

result<void> gru_backward_pass::begin() {
    auto made = make_scratch(run_, {n_.rows() * n_.width, 4 * n_.rows() * n_.width, n_.states(),
                                    3 * n_.states(), 3 * n_.states(), 4 * n_.width});
    if (!made)
        return made.failure();
    parts_ = std::move(*made);
    if (auto done = shift(run_, n_, floats(of_.output), of_.initial_state, parts_.at[0]); !done)
        return done;
    return copy_or_zero(run_, of_.final_state_gradient, to_state(), n_.states());
}

result<void> gru_backward_pass::step(std::size_t t) {
    float *const to_sums = parts_.at[3], *const to_product = parts_.at[4];
    if (auto done = checked(with_index(
            {n_.states()},
            [&]<class Index>(Index) {
                return launch_elements(
                    run_.stream(), n_.states(),
                    gru_backward_step<Index>{
                        divisor<Index>{n_.width}, n_.width,
                        at(n_, floats(of_.gates), t, 4 * n_.width), at(n_, previous(), t, n_.width),
                        at(n_, floats(of_.output_gradient), t, n_.width), to_state(),
                        at(n_, parts_.at[1], t, 4 * n_.width), to_sums, to_product});
            }));
        !done)
        return done;
    return multiply.back(to_product, 1, to_state());
}

result<void> gru_backward_pass::finish(const recurrent_gradients& gradients) const {
    const std::size_t width = n_.width;
    float* const weight = floats(gradients.weight_hh);
    float* const to_bias = parts_.at[5]; // as to_gates
    if (auto done = multiply.of_gates(to_gates(), 0, 2 * width, previous(), width, weight, width);
        !done)
        return done;
    if (auto done = multiply.of_gates(to_gates(), 3 * width, width, previous(), width,
                                      weight + 2 * width * width, width);
        !done)
        return done;
    if (auto done = sum_rows({to_gates(), n_.rows(), 4 * width, to_bias}, run_); !done)
        return done;
    if (auto done = copy(run_, to_bias, 3 * width, floats(gradients.bias_ih)); !done)
        return done;
    if (auto done = copy(run_, to_bias, 2 * width, floats(gradients.bias_hh)); !done)
        return done;
    if (auto done = copy(run_, to_bias + 3 * width, width, floats(gradients.bias_hh) + 2 * width);
        !done)
        return done;
    return copy_if_wanted(run_, to_state(), n_.states(), gradients.initial_state);
}

} // namespace troupe::cuda
