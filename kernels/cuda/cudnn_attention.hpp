// Attention as cuDNN's graphs: the operations that it is made of, which engines take as one. Factors and what they give are
// bfloat16, scores and sums float32.
#pragma once

#include <compare>

#include "kernels/cuda/cudnn_plan.hpp"

namespace troupe::cuda {

// Versions before it are not asked: some of them have computed something else (9.10.0).
inline constexpr std::size_t first_version_for_attention = 91900;

enum attention_operand : std::uint8_t {
    // (samples, heads, query_rows or key_rows, width), the last rows without a meaning.
    attention_queries,
    attention_keys,
    attention_values,
    attention_output,
    attention_log_sums,      // (samples, heads, queries), float32
    attention_scale,         // by value, float32: of the scores
    attention_unseen,        // by value, float32: the score of what is not seen, -inf
    attention_query_lengths, // (samples), int32, only with lengths, as key_lengths
    attention_key_lengths,
    // On the way back.
    attention_output_gradient, // like the output
    attention_one,             // by value, float32
    attention_means,           // like log_sums; computed on the way
    attention_query_gradient,
    attention_key_gradient,
    attention_value_gradient,
};
inline constexpr std::size_t attention_operands = 15;

struct attention_shape {
    bool is_backward;
    std::int64_t samples, heads, queries, keys, width;
    std::int64_t query_rows, key_rows;
    bool causal, has_lengths;

    friend auto operator<=>(const attention_shape&, const attention_shape&) = default;
};

// Operands are by attention_operand. More than one query: cuDNN 9.26 ends with a fault where one query of one head is all.
cudnn_graph graph_of(const dnn::functions& cudnn, const attention_shape& shape);
engine_rules rules_of(const attention_shape& shape) noexcept;

} // namespace troupe::cuda
