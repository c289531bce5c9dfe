// The common part of passes over sequences: sizes, positions of all samples, products with the weights of a cell, and the
// backward pass of the GRU, which the decoder with attention has, too. Products may throw dnnl::error, scratch
// out_of_memory; see guarded.hpp.
#pragma once

#include <algorithm>

#include "kernels/cpu/multiplier.hpp"
#include "kernels/cpu/recurrent_loops.hpp"
#include "kernels/ops/recurrent.hpp"

namespace troupe::cpu {

struct sequence_sizes {
    std::size_t samples, positions, features, width;

    sequence_sizes(const tensor& input, const tensor& states)
        : samples{input.shape()[0]}, positions{input.shape()[1]}, features{input.shape()[2]},
          width{states.shape()[2]} {}

    std::size_t rows() const { return samples * positions; }
    std::size_t states() const { return samples * width; } // floats of a position's states
};

// Memory for so many floats.
class float_scratch {
  public:
    float_scratch(memory_pool& pool, std::size_t count)
        : memory_{pool, count * sizeof(float)}, count_{count} {}
    operator float*() const { return memory_.floats(); }
    void zero() const { std::fill_n(memory_.floats(), count_, 0.f); }

  private:
    scratch memory_;
    std::size_t count_;
};

// The rows of one position of (samples, positions, width).
template <class Float>
sample_rows<Float> at(const sequence_sizes& n, Float* values, std::size_t position,
                      std::size_t width) {
    return {values + position * width, n.positions * width};
}

// The rows of one position of a gradient of (samples, positions, width), which may be null; `zeros` are width zeros.
sample_rows<const float> at_or_zero(const sequence_sizes& n, const tensor* gradient,
                                    std::size_t position, const float* zeros);

void copy_or_zero(const tensor* from, float* to, std::size_t count);
void copy_if_wanted(const float* from, std::size_t count, tensor* to);

// (samples, positions, width): the state before each position.
void shift(const sequence_sizes& n, const float* states, const tensor* initial, float* to);

// Into the first columns of `gates`, 4 * width wide: the input times the first columns of weight_ih.
void multiply_input(const multiplier& multiply, const sequence_sizes& n, const tensor& input,
                    const tensor& weight_ih, float* gates);

// product = state * weight_hh transposed
void multiply_state(const multiplier& multiply, const sequence_sizes& n, const tensor& weight_hh,
                    const float* state, float* product);

// to_state = beta * to_state + to_product * weight_hh
void multiply_back(const multiplier& multiply, const sequence_sizes& n, const tensor& weight_hh,
                   const float* to_product, float beta, float* to_state);

// gradient = the `columns` columns of to_gates from `first` on, transposed, times `factor`, (samples * positions, width).
void multiply_gates(const multiplier& multiply, const sequence_sizes& n, const float* to_gates,
                    std::size_t first, std::size_t columns, const float* factor, std::size_t width,
                    float* gradient, std::size_t gradient_stride);

// The gradients of the input and of the first columns of weight_ih.
void input_gradients(const multiplier& multiply, const sequence_sizes& n, const float* to_gates,
                     const tensor& input, const tensor& weight_ih, tensor& weight_gradient,
                     tensor* input_gradient);

// The backward pass of gru_backward, for a cell that may have more inputs than `input`.
class gru_backward_pass {
  public:
    gru_backward_pass(const multiplier& multiply, const recurrent_loops& loops,
                      const sequence_sizes& sizes, const recurrent_parameters& parameters,
                      const tensor* initial_state, const tensor& output, const tensor& gates,
                      const tensor* output_gradient, const tensor* final_state_gradient);

    // Called from the last position to the first. Computes to_gates of this position and to_state of the one before.
    void step(std::size_t position);
    // Computes all gradients but those of input and weight_ih.
    void finish(const recurrent_gradients& gradients) const;

    const float_scratch previous; // (samples, positions, width): h[t-1]
    const float_scratch to_gates; // (samples, positions, 4 * width), as gru_backward_task's
    const float_scratch to_state; // (samples, width)

  private:
    const multiplier multiply_;
    const recurrent_loops& loops_;
    const sequence_sizes n_;
    const recurrent_parameters& parameters_;
    const tensor& gates_;
    const tensor* output_gradient_;
    const float_scratch to_product_, to_bias_, zeros_;
};

} // namespace troupe::cpu
