// Recurrent layers: one layer, one direction, sequences of equal length. Definitions, order of gates and layout of
// parameters are those of PyTorch's GRU and LSTM with batch_first.
//
// h[t] is the state behind position t, h[-1] the initial state. Operands by pointer are null where nobody wants them, or
// where they would be all zeros. Vectors are multiplied element by element. `products` is of the products with matrices,
// also of those of gradients: their factors are rounded, not what is added to them.
#pragma once

#include "kernels/ops/precision.hpp"
#include "kernels/tensor/tensor.hpp"

namespace troupe {

// The rows of a matrix are those of the gates, one gate behind the other: 3 gates for gru, 4 for lstm.
struct recurrent_parameters {
    const tensor& weight_ih; // (gates * width, features), of the input
    const tensor& weight_hh; // (gates * width, width), of the state
    const tensor& bias_ih;   // (gates * width)
    const tensor& bias_hh;   // (gates * width)
};

struct recurrent_gradients {
    tensor* input; // (samples, positions, features)
    tensor& weight_ih;
    tensor& weight_hh;
    tensor& bias_ih;
    tensor& bias_hh;
    tensor* initial_state = nullptr; // (samples, width)
};

// r = sigmoid(W_ir x + b_ir + W_hr h[t-1] + b_hr), z likewise with W_iz and so on,
// n = tanh(W_in x + b_in + r * (W_hn h[t-1] + b_hn)), h[t] = (1 - z) * n + z * h[t-1]. Gates: r, z, n.
// Cho et al. 2014, with the reset gate behind the product, as in cuDNN.
struct gru_forward {
    const tensor& input; // (samples, positions, features)
    recurrent_parameters parameters;
    const tensor* initial_state; // (samples, width)
    tensor& output;              // (samples, positions, width): h
    tensor& gates; // (samples, positions, 4 * width): r, z, n and W_hn h[t-1] + b_hn, for backward
    tensor* final_state = nullptr; // (samples, width): behind the last position
    precision products = precision::float32;

    result<void> check() const;
};

struct gru_backward {
    const tensor& input;
    recurrent_parameters parameters;
    const tensor* initial_state;
    const tensor& output; // as the forward pass left it
    const tensor& gates;  // as the forward pass left it
    const tensor* output_gradient;
    recurrent_gradients gradients;
    const tensor* final_state_gradient = nullptr;
    precision products = precision::float32;

    result<void> check() const;
};

// i = sigmoid(W_ii x + b_ii + W_hi h[t-1] + b_hi), f and o likewise, g with tanh instead;
// c[t] = f * c[t-1] + i * g, h[t] = o * tanh(c[t]). Gates: i, f, g, o. Hochreiter and Schmidhuber 1997, with the forget
// gate of Gers et al. 2000.
struct lstm_forward {
    const tensor& input; // (samples, positions, features)
    recurrent_parameters parameters;
    const tensor* initial_state;   // (samples, width)
    const tensor* initial_cell;    // (samples, width): c[-1]
    tensor& output;                // (samples, positions, width): h
    tensor& cells;                 // (samples, positions, width): c, for backward
    tensor& gates;                 // (samples, positions, 4 * width): i, f, g, o, for backward
    tensor* final_state = nullptr; // (samples, width): behind the last position
    tensor* final_cell = nullptr;  // likewise
    precision products = precision::float32;

    result<void> check() const;
};

struct lstm_backward {
    const tensor& input;
    recurrent_parameters parameters;
    const tensor* initial_state;
    const tensor* initial_cell;
    const tensor& output; // as the forward pass left it
    const tensor& cells;  // as the forward pass left it
    const tensor& gates;  // as the forward pass left it
    const tensor* output_gradient;
    recurrent_gradients gradients;
    tensor* initial_cell_gradient = nullptr; // (samples, width)
    const tensor* final_state_gradient = nullptr;
    const tensor* final_cell_gradient = nullptr;
    precision products = precision::float32;

    result<void> check() const;
};

} // namespace troupe
