// The loops over gates of recurrent layers (kernels/ops/recurrent.hpp), compiled once per instruction set as those of
// loops.hpp and under the same rule: no result depends on the instruction set. A loop takes one position of all samples.
#pragma once

#include <cstddef>

#include "kernels/cpu/sample_rows.hpp"

namespace troupe::cpu {

struct gru_forward_task {
    std::size_t samples;
    std::size_t width;
    const float* bias_ih;     // (3 * width)
    const float* bias_hh;     // (3 * width)
    const float* product;     // (samples, 3 * width): W_hh h[t-1]
    sample_rows<float> gates; // 4 * width: W_ih x where r, z and n will be
    float* state;             // (samples, width): h[t-1], becomes h[t]
    sample_rows<float> output;
};

struct gru_backward_task {
    std::size_t samples;
    std::size_t width;
    sample_rows<const float> gates;
    sample_rows<const float> previous; // h[t-1]
    sample_rows<const float> output_gradient;
    // (samples, width): gradient from later positions; becomes the part that goes straight to h[t-1].
    float* to_state;
    // 4 * width: gradients of the sums in r, z and n, and of W_hn h[t-1] + b_hn.
    sample_rows<float> to_gates;
    float* to_product; // (samples, 3 * width): of W_hh h[t-1]
    float* to_bias;    // (4 * width): what is in to_gates is added
};

struct lstm_forward_task {
    std::size_t samples;
    std::size_t width;
    const float* bias_ih;     // (4 * width)
    const float* bias_hh;     // (4 * width)
    const float* product;     // (samples, 4 * width): W_hh h[t-1]
    sample_rows<float> gates; // 4 * width: W_ih x where the gates will be
    float* state;             // (samples, width): becomes h[t]
    float* cell;              // (samples, width): c[t-1], becomes c[t]
    sample_rows<float> output;
    sample_rows<float> cells;
};

struct lstm_backward_task {
    std::size_t samples;
    std::size_t width;
    sample_rows<const float> gates;
    sample_rows<const float> cells;
    sample_rows<const float> previous_cells; // c[t-1]
    sample_rows<const float> output_gradient;
    const float* to_state;       // (samples, width): from the positions behind
    float* to_cell;              // (samples, width): likewise; becomes what goes to c[t-1]
    sample_rows<float> to_gates; // 4 * width: gradients of the sums in the gates
    float* to_product;           // (samples, 4 * width): the same, together
    float* to_bias;              // (4 * width): the same is added
};

struct recurrent_loops {
    void (*gru_forward)(const gru_forward_task& task);
    void (*gru_backward)(const gru_backward_task& task);
    void (*lstm_forward)(const lstm_forward_task& task);
    void (*lstm_backward)(const lstm_backward_task& task);
};

extern const recurrent_loops recurrent_loops_baseline;
extern const recurrent_loops recurrent_loops_avx2;
extern const recurrent_loops recurrent_loops_avx512;

} // namespace troupe::cpu
