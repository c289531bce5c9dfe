// The additive attention of Bahdanau, Cho and Bengio 2015 to a memory, such as an encoder's states, and the decoder around
// it.
//
// A state s attends to the memory h of its sample, whose first `length` positions count:
// score[j] = v . tanh(W s + U h[j]), shares = softmax of the scores, 0 from length on, context = sum of shares[j] * h[j].
// U h, with a bias where one is wanted, is computed once for all states that attend to it: linear_forward. `products` is
// of those with W and with the matrices of the decoder's cell; scores and contexts are float32.
#pragma once

#include "kernels/ops/recurrent.hpp"
#include "kernels/tensor/tensor.hpp"

namespace troupe {

struct attended_memory {
    const tensor& values;    // (samples, source, memory width): h
    const tensor& projected; // (samples, source, attention width): U h
    const tensor*
        lengths; // (samples), int32, in 1..source, or null: the whole source of all samples
};

// The error for a length outside 1..source.
error bad_memory_length(std::size_t sample, std::int32_t length, std::size_t source);

struct additive_parameters {
    const tensor& query_weight; // (attention width, state width): W
    const tensor& score_weight; // (attention width): v
};

struct additive_gradients {
    tensor& memory;    // like values, of what goes by the context alone
    tensor& projected; // like projected
    tensor& query_weight;
    tensor& score_weight;
};

struct additive_attention_forward {
    const tensor& state; // (samples, state width)
    attended_memory memory;
    additive_parameters parameters;
    tensor& context; // (samples, memory width)
    tensor& shares;  // (samples, source)
    precision products = precision::float32;

    result<void> check() const; // errc::data for a length outside 1..source
};

struct additive_attention_backward {
    const tensor& state;
    attended_memory memory;
    additive_parameters parameters;
    const tensor& shares; // as the forward pass left it
    const tensor& context_gradient;
    tensor& state_gradient;
    additive_gradients gradients;
    precision products = precision::float32;

    result<void> check() const;
};

// The decoder: for each position, context[t] of the state h[t-1], then the GRU's step from h[t-1] to h[t] with the input
// [input[t], context[t]]. With teacher forcing `input` is the embedded target, one position late; to generate, run one
// position at a time from the state of the last.
struct attention_gru_forward {
    const tensor& input; // (samples, positions, features)
    recurrent_parameters
        cell; // as gru_forward's, with weight_ih of (3 * width, features + memory width)
    const tensor* initial_state; // (samples, width), or null: zeros
    attended_memory memory;
    additive_parameters attention; // of a state of `width`
    tensor& output;                // (samples, positions, width): h
    tensor& contexts;              // (samples, positions, memory width)
    tensor& shares;                // (samples, positions, source)
    tensor& gates;                 // (samples, positions, 4 * width), for backward
    precision products = precision::float32;

    result<void> check() const;
};

struct attention_gru_backward {
    const tensor& input;
    recurrent_parameters cell;
    const tensor* initial_state;
    attended_memory memory;
    additive_parameters attention;
    const tensor& output; // as the forward pass left it, as the next three
    const tensor& contexts;
    const tensor& shares;
    const tensor& gates;
    const tensor& output_gradient;
    const tensor* contexts_gradient; // or null where nothing else uses the contexts
    recurrent_gradients cell_gradients;
    additive_gradients attention_gradients;
    precision products = precision::float32;

    result<void> check() const;
};

} // namespace troupe
