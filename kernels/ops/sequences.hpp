// Operations on sequences: (samples, positions, width).
#pragma once

#include "kernels/ops/precision.hpp"
#include "kernels/tensor/tensor.hpp"

namespace troupe {

// output[i] = table[indices[i]]. errc::data for an index that the table has no row for.
struct embedding_forward {
    const tensor& indices; // any shape, int32
    const tensor& table;   // (vocabulary, width)
    tensor& output;        // (shape of the indices..., width)

    result<void> check() const;
};

// table_gradient[v] = sum over i with indices[i] == v of output_gradient[i], in the order of i.
struct embedding_backward {
    const tensor& indices;
    const tensor& output_gradient; // (shape of the indices..., width)
    tensor& table_gradient;        // (vocabulary, width)

    result<void> check() const;
};

// The error for the index at place i of all, in row-major order.
error bad_index(const tensor_shape& indices, std::size_t i, std::int32_t index,
                std::size_t vocabulary);

// output[s] = input[s] + addend, as learned positions are added to every sample.
struct add_to_samples {
    const tensor& input;  // (samples, ...)
    const tensor& addend; // (...)
    tensor& output;       // like input; may be it

    result<void> check() const;
};

// sum = sum over s of input[s], in the order of s: the gradient of add_to_samples' addend.
struct sum_of_samples {
    const tensor& input; // (samples, ...)
    tensor& sum;         // (...)

    result<void> check() const;
};

// lengths[s] = the positions of tokens[s] up to the last one that is not padding; at least 1.
struct sequence_lengths {
    const tensor& tokens; // (samples, positions), int32
    std::int32_t padding;
    tensor& lengths; // (samples), int32

    result<void> check() const;
};

// Along the last dimension, output[i] = exp(input[i]) / sum over j of exp(input[j]); output may be input.
struct softmax_forward {
    const tensor& input;
    tensor& output;

    result<void> check() const;
};

// input_gradient may be output_gradient.
struct softmax_backward {
    const tensor& output;
    const tensor& output_gradient;
    tensor& input_gradient;

    result<void> check() const;
};

struct attention_settings {
    std::size_t heads = 1;
    bool causal =
        false; // a position sees the keys up to its own; there are as many queries as keys then
};

// Columns first .. first + width of a tensor of (samples, positions, columns), so that queries, keys and values may lie
// beside one another in one tensor. The width is that of the attention's output.
struct columns {
    const tensor& of;
    std::size_t first = 0;
};
struct mutable_columns {
    tensor& of;
    std::size_t first = 0;
};

// Multi-head scaled dot product attention. Vaswani et al. 2017. Head h has the columns from h * d on, d = width / heads:
//     score[i][j] = sum over c of queries[i][c] * keys[j][c] / sqrt(d)
//     output[i][c] = sum over j of softmax(score[i])[j] * values[j][c]
// over the keys j that i sees: with `causal` those up to i, with `key_lengths` those before its sample's length.
//
// With `products` in 16 bits the factors are rounded: queries and keys, whose products are then multiplied by 1 / sqrt(d)
// in float32, values, and what multiplies the values. That is exp(score - m), with m the largest score, or about the
// largest so far in a back end that goes over the keys piece by piece; or it stays as it is where rounding gains nothing,
// as on a processor. So the bits are a back end's own: two may differ by 2^-8 (float16: 2^-11) of each share. Scores, the
// sums that shares are divided by and log_sums are float32. With bfloat16 the output may be rounded to it, once.
struct attention_forward {
    attention_settings settings;
    columns queries;           // of (samples, queries)
    columns keys;              // of (samples, keys)
    columns values;            // of (samples, keys)
    const tensor* key_lengths; // (samples), int32, 1 to keys; or null: all. errc::data for others
    tensor& output;            // (samples, queries, width)
    tensor& log_sums;          // (samples, heads, queries): log(sum over j of exp(score[i][j]))
    precision products = precision::float32;

    result<void> check() const;
};

// The error for a sample's number of keys.
error bad_key_length(std::size_t sample, std::int32_t length, std::size_t keys);

// The three gradients may be columns of one tensor that do not overlap. With p the shares, softmax(score[i])[j], and m[i] =
// sum over c of output[i][c] * output_gradient[i][c]:
//     value_gradient[j] = sum over i of p[i][j] * output_gradient[i]
//     to_score[i][j] = p[i][j] * (output_gradient[i] . values[j] - m[i]) / sqrt(d)
//     query_gradient[i] = sum over j of to_score[i][j] * keys[j]
//     key_gradient[j] = sum over i of to_score[i][j] * queries[i]
// With `products` in 16 bits queries, keys, values and output_gradient are rounded, the last in m too, and p and to_score
// where they are factors of a sum, or not, as on the way forward; so may be the output in m, and the three gradients, once.
struct attention_backward {
    attention_settings settings;
    columns queries;
    columns keys;
    columns values;
    const tensor* key_lengths;
    const tensor& output;          // as the forward pass left it
    const tensor& log_sums;        // as the forward pass left them
    const tensor& output_gradient; // like output
    mutable_columns query_gradient;
    mutable_columns key_gradient; // 0 for keys that nobody sees
    mutable_columns value_gradient;
    precision products = precision::float32;

    result<void> check() const;
};

} // namespace troupe
