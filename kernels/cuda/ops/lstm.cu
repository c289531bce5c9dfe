// One product for all inputs with their weights. A position then takes a product of its state and a kernel of the gates.
#include "kernels/cuda/columns.hpp"
#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/indices.hpp"
#include "kernels/cuda/recurrent_pass.hpp"
#include "kernels/cuda/sigmoid.hpp"

namespace troupe {

namespace {

using cuda::sample_rows;
using cuda::sigmoid;

// ---- kernels ----------------------------------------------------------------------------------------------------------

// The step of one position of all samples.
template <class Index>
struct forward_step {
    cuda::divisor<Index> by_width;
    std::size_t width;
    const float *bias_ih, *bias_hh; // (4 * width)
    const float* product;           // (samples, 4 * width): W_hh h[t-1]
    sample_rows<float> gates;       // 4 * width: W_ih x where the gates will be
    float* state;                   // (samples, width): becomes h[t]
    float* cell;                    // (samples, width): c[t-1], becomes c[t]
    sample_rows<float> output, cells;

    __device__ void operator()(std::size_t at) const {
        const auto [s, j] = by_width.divide(static_cast<Index>(at));
        const float* const of_state = product + 4 * width * s;
        float* const kept = gates.of(s);
        float sums[4]; // in i, f, g and o
#pragma unroll
        for (unsigned gate = 0; gate < 4; ++gate) {
            const std::size_t k = gate * width + j;
            sums[gate] = kept[k] + of_state[k] + (bias_ih[k] + bias_hh[k]);
        }
        const float i = sigmoid(sums[0]), f = sigmoid(sums[1]);
        const float g = tanhf(sums[2]), o = sigmoid(sums[3]);
        const float c = f * cell[at] + i * g;
        const float h = o * tanhf(c);
        kept[j] = i;
        kept[width + j] = f;
        kept[2 * width + j] = g;
        kept[3 * width + j] = o;
        cell[at] = cells.of(s)[j] = c;
        state[at] = output.of(s)[j] = h;
    }
};

template <class Index>
struct backward_step {
    cuda::divisor<Index> by_width;
    std::size_t width;
    sample_rows<const float> gates, cells, previous_cells, output_gradient;
    const float* to_state;       // (samples, width): from the positions behind
    float* to_cell;              // (samples, width): likewise; becomes what goes to c[t-1]
    sample_rows<float> to_gates; // 4 * width: gradients of the sums in the gates
    float* to_product;           // (samples, 4 * width): the same, together

    __device__ void operator()(std::size_t at) const {
        const auto [s, j] = by_width.divide(static_cast<Index>(at));
        const float* const kept = gates.of(s);
        const float i = kept[j], f = kept[width + j];
        const float g = kept[2 * width + j], o = kept[3 * width + j];
        const float dh = output_gradient.at_or_zero(s, j) + to_state[at];
        const float tanh_c = tanhf(cells.of(s)[j]);
        const float dc = to_cell[at] + dh * o * ((1 - tanh_c) * (1 + tanh_c));
        const float to[4] = {dc * g * (i * (1 - i)),
                             dc * previous_cells.at_or_zero(s, j) * (f * (1 - f)),
                             dc * i * ((1 - g) * (1 + g)), dh * tanh_c * (o * (1 - o))};
        to_cell[at] = dc * f;
        float* const of_gates = to_gates.of(s);
        float* const of_product = to_product + 4 * width * s;
#pragma unroll
        for (unsigned gate = 0; gate < 4; ++gate)
            of_gates[gate * width + j] = of_product[gate * width + j] = to[gate];
    }
};

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> cuda_operations::start(const lstm_forward& op) {
    const cuda::sequence_sizes n{op.input, op.output};
    const cuda::cell_products multiply{run_, n, op.parameters, op.products};
    auto made = cuda::make_scratch(run_, {n.states(), n.states(), 4 * n.states()});
    if (!made)
        return made.failure();
    const auto [state, cell, product] = made->at;
    float *const gates = cuda::floats(op.gates), *const cells = cuda::floats(op.cells);
    if (auto done = multiply.of_input(op.input, gates); !done)
        return done;
    if (auto done = cuda::copy_or_zero(run_, op.initial_state, state, n.states()); !done)
        return done;
    if (auto done = cuda::copy_or_zero(run_, op.initial_cell, cell, n.states()); !done)
        return done;
    for (std::size_t t = 0; t < n.positions; ++t) {
        if (auto done = multiply.of_state(state, product); !done)
            return done;
        const auto status = cuda::with_index({n.states()}, [&]<class Index>(Index) {
            return cuda::launch_elements(
                run_.stream(), n.states(),
                forward_step<Index>{
                    cuda::divisor<Index>{n.width}, n.width, cuda::floats(op.parameters.bias_ih),
                    cuda::floats(op.parameters.bias_hh), product, at(n, gates, t, 4 * n.width),
                    state, cell, at(n, cuda::floats(op.output), t, n.width),
                    at(n, cells, t, n.width)});
        });
        if (auto done = cuda::checked(status, {&op.input, &op.output}); !done)
            return done;
    }
    if (auto done = cuda::copy_if_wanted(run_, state, n.states(), op.final_state); !done)
        return done;
    return cuda::copy_if_wanted(run_, cell, n.states(), op.final_cell);
}

result<void> cuda_operations::start(const lstm_backward& op) {
    const cuda::sequence_sizes n{op.input, op.output};
    const cuda::cell_products multiply{run_, n, op.parameters, op.products};
    auto made = cuda::make_scratch(
        run_, {n.rows() * n.width, 4 * n.rows() * n.width, 4 * n.states(), n.states(), n.states()});
    if (!made)
        return made.failure();
    const auto [previous, to_gates, to_product, to_state, to_cell] = made->at;
    const float *const gates = cuda::floats(op.gates), *const cells = cuda::floats(op.cells);
    const float* const output_gradient = cuda::floats(op.output_gradient);
    if (auto done = cuda::copy_or_zero(run_, op.final_state_gradient, to_state, n.states()); !done)
        return done;
    if (auto done = cuda::copy_or_zero(run_, op.final_cell_gradient, to_cell, n.states()); !done)
        return done;
    for (std::size_t t = n.positions; t-- > 0;) {
        const auto status = cuda::with_index({n.states()}, [&]<class Index>(Index) {
            return cuda::launch_elements(
                run_.stream(), n.states(),
                backward_step<Index>{cuda::divisor<Index>{n.width}, n.width,
                                     at(n, gates, t, 4 * n.width), at(n, cells, t, n.width),
                                     before(n, cells, op.initial_cell, t),
                                     at(n, output_gradient, t, n.width), to_state, to_cell,
                                     at(n, to_gates, t, 4 * n.width), to_product});
        });
        if (auto done = cuda::checked(status, {&op.input, &op.output}); !done)
            return done;
        if (auto done = multiply.back(to_product, 0, to_state); !done)
            return done;
    }
    const auto& g = op.gradients;
    if (auto done = multiply.input_gradients(to_gates, op.input, g); !done)
        return done;
    if (auto done = cuda::shift(run_, n, cuda::floats(op.output), op.initial_state, previous);
        !done)
        return done;
    if (auto done = multiply.of_gates(to_gates, 0, 4 * n.width, previous, n.width,
                                      cuda::floats(g.weight_hh), n.width);
        !done)
        return done;
    if (auto done =
            cuda::sum_rows({to_gates, n.rows(), 4 * n.width, cuda::floats(g.bias_ih)}, run_);
        !done)
        return done;
    if (auto done = cuda::copy(run_, cuda::floats(g.bias_ih), 4 * n.width, cuda::floats(g.bias_hh));
        !done)
        return done;
    if (auto done = cuda::copy_if_wanted(run_, to_state, n.states(), g.initial_state); !done)
        return done;
    return cuda::copy_if_wanted(run_, to_cell, n.states(), op.initial_cell_gradient);
}

} // namespace troupe
