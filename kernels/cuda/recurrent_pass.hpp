// Parts of all passes over sequences: sizes, positions of all samples, products with the weights of a cell, and the steps of
// the GRU, which the decoder with attention has, too.
//
// What steps multiply lies together in scratch memory, not at its position among all others: only that is rounded then.
#pragma once

#include "kernels/cuda/elements.hpp"
#include "kernels/cuda/execution.hpp"
#include "kernels/cuda/scratch_parts.hpp"
#include "kernels/ops/recurrent.hpp"

namespace troupe::cuda {

struct sequence_sizes {
    std::size_t samples, positions, features, width;

    sequence_sizes(const tensor& input, const tensor& states)
        : samples{input.shape()[0]}, positions{input.shape()[1]}, features{input.shape()[2]},
          width{states.shape()[2]} {}

    std::size_t rows() const { return samples * positions; }
    std::size_t states() const { return samples * width; } // floats of a position's states
};

// A row of each sample; null for zeros.
template <class Float>
struct sample_rows {
    Float* first;
    std::size_t stride;

    __device__ Float* of(std::size_t sample) const { return first + sample * stride; }
    __device__ float at_or_zero(std::size_t sample, std::size_t i) const {
        return first == nullptr ? 0 : of(sample)[i];
    }
};

// Rows of one position of (samples, positions, width), which may be null.
template <class Float>
sample_rows<Float> at(const sequence_sizes& n, Float* values, std::size_t position,
                      std::size_t width) {
    return {values == nullptr ? nullptr : values + position * width, n.positions * width};
}

// Rows before the position: of `initial`, (samples, width), before the first.
inline sample_rows<const float> before(const sequence_sizes& n, const float* states,
                                       const tensor* initial, std::size_t position) {
    if (position == 0)
        return {floats(initial), n.width};
    return at(n, states, position - 1, n.width);
}

result<void> copy(execution& run, const float* from, std::size_t count, float* to);
result<void> set_zero(execution& run, float* to, std::size_t count);
result<void> copy_or_zero(execution& run, const tensor* from, float* to, std::size_t count);
result<void> copy_if_wanted(execution& run, const float* from, std::size_t count, tensor* to);

// (samples, positions, width): the state before each position.
result<void> shift(execution& run, const sequence_sizes& n, const float* states,
                   const tensor* initial, float* to);

// Products with the matrices of a cell, whose weight_ih may have columns behind those of the input.
class cell_products {
  public:
    cell_products(execution& run, const sequence_sizes& sizes,
                  const recurrent_parameters& parameters, precision numbers)
        : run_{run}, n_{sizes}, parameters_{parameters}, numbers_{numbers},
          rows_{parameters.weight_hh.shape()[0]}, columns_{parameters.weight_ih.shape()[1]} {}

    // Into the first columns of `gates`, 4 * width wide: that of all inputs.
    result<void> of_input(const tensor& input, float* gates) const;
    // product = state * weight_hh transposed
    result<void> of_state(const float* state, float* product) const;
    // to_state = beta * to_state + to_product * weight_hh
    result<void> back(const float* to_product, float beta, float* to_state) const;
    // gradient = the `count` columns of to_gates from `first` on, transposed, times `factor`, (samples * positions, width).
    result<void> of_gates(const float* to_gates, std::size_t first, std::size_t count,
                          const float* factor, std::size_t width, float* gradient,
                          std::size_t gradient_stride) const;
    // The gradients of the input and of the first columns of weight_ih.
    result<void> input_gradients(const float* to_gates, const tensor& input,
                                 const recurrent_gradients& gradients) const;

    // The next two are of columns of weight_ih from `first` on, and of one position.
    // gates += values * columns transposed; `values` lie together
    result<void> add_columns(std::size_t first, std::size_t count, const float* values,
                             const sample_rows<float>& gates) const;
    // to_values += to_sums * columns; `to_sums` lie together
    result<void> add_columns_back(std::size_t first, std::size_t count, const float* to_sums,
                                  const sample_rows<float>& to_values) const;

    std::size_t input_columns() const { return columns_; } // of weight_ih

  private:
    result<void> multiply(product p) const {
        p.numbers = numbers_;
        return run_.multiply()(p, run_.stream());
    }

    execution& run_;
    const sequence_sizes n_;
    const recurrent_parameters& parameters_;
    const precision numbers_;
    const std::size_t rows_, columns_;
};

// The step of one position of all samples.
struct gru_step {
    const float* bias_ih;     // (3 * width)
    const float* bias_hh;     // (3 * width)
    const float* product;     // (samples, 3 * width): W_hh h[t-1]
    sample_rows<float> gates; // 4 * width: W_ih x where r, z and n will be
    float* state;             // (samples, width): h[t-1], becomes h[t]
    sample_rows<float> output;
};
result<void> step(execution& run, const sequence_sizes& n, const gru_step& s);

// As gru_backward of a cell whose input may be more than `input`.
class gru_backward_pass {
  public:
    struct operands {
        const recurrent_parameters& parameters;
        const tensor* initial_state;
        const tensor& output;
        const tensor& gates;
        const tensor* output_gradient;
        const tensor* final_state_gradient;
    };
    gru_backward_pass(execution& run, const sequence_sizes& sizes, const operands& of,
                      precision numbers)
        : multiply{run, sizes, of.parameters, numbers}, run_{run}, n_{sizes}, of_{of} {}

    result<void> begin();
    // From the last position to the first. Leaves to_gates of this position, to_sums, and to_state of the one before.
    result<void> step(std::size_t position);
    // All gradients but those of input and weight_ih.
    result<void> finish(const recurrent_gradients& gradients) const;

    const float* previous() const { return parts_.at[0]; } // (samples, positions, width): h[t-1]
    // (samples, positions, 4 * width): of the sums in r, z and n, and of W_hn h[t-1] + b_hn
    const float* to_gates() const { return parts_.at[1]; }
    float* to_state() const { return parts_.at[2]; }      // (samples, width)
    const float* to_sums() const { return parts_.at[3]; } // (samples, 3 * width): in r, z and n

    const cell_products multiply;

  private:
    execution& run_;
    const sequence_sizes n_;
    const operands of_;
    scratch_parts<6>
        parts_; // with the gradient of W_hh h[t-1], (samples, 3 * width), and the sums of the rows of to_gates
};

} // namespace troupe::cuda
