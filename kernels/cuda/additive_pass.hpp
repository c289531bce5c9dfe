// Parts that additive attention and the decoder around it share: the steps of one state of every sample, and the products of
// states with the weight of their queries.
#pragma once

#include "kernels/cuda/recurrent_pass.hpp"
#include "kernels/ops/additive_attention.hpp"

namespace troupe::cuda {

struct additive_memory {
    std::size_t samples;
    std::size_t source;
    std::size_t width; // of memory
    std::size_t attention_width;
    const float* values;         // (samples, source, width): h
    const float* projected;      // (samples, source, attention_width): U h
    const std::int32_t* lengths; // (samples), or null: source
    const float* score_weight;   // (attention_width): v

    additive_memory(const attended_memory& m, const additive_parameters& p)
        : samples{m.values.shape()[0]}, source{m.values.shape()[1]}, width{m.values.shape()[2]},
          attention_width{m.projected.shape()[2]}, values{floats(m.values)}, projected{floats(
                                                                                 m.projected)},
          lengths{m.lengths == nullptr ? nullptr : integers(*m.lengths)}, score_weight{floats(
                                                                              p.score_weight)} {}

    std::size_t queries() const { return samples * attention_width; } // floats of a position's
    std::size_t scores() const { return samples * source; }
};

// The work fails with errc::data where a length is outside 1..source; steps take such a sample's whole source.
result<void> look_at_lengths(execution& run, const additive_memory& m);

struct additive_forward_step {
    sample_rows<const float> query; // attention_width: W s
    sample_rows<float> shares;
    sample_rows<float> context;
    float* context_together; // (samples, width): the same, or null
    float* scores;           // (samples, source), scratch
};
result<void> step(execution& run, const additive_memory& m, const additive_forward_step& s);

struct additive_backward_step {
    sample_rows<const float> query;
    sample_rows<const float> shares;
    sample_rows<const float> to_context;
    sample_rows<float> to_query;
    float* to_query_together; // (samples, attention_width): the same, or null
    float* to_projected;      // like projected; added to
    float* to_score_weight;   // (samples, attention_width), of each sample; added to
    float* to_shares;         // (samples, source), scratch
};
result<void> step(execution& run, const additive_memory& m, const additive_backward_step& s);

// Products for rows that lie together.
class query_products {
  public:
    query_products(execution& run, const tensor& weight, precision numbers)
        : run_{run}, weight_{weight}, numbers_{numbers} {}

    // queries = states * weight transposed
    result<void> of_states(const float* states, std::size_t rows, float* queries) const;
    // to_states = beta * to_states + to_queries * weight
    result<void> back(const float* to_queries, std::size_t rows, float beta,
                      float* to_states) const;
    result<void> weight_gradient(const float* to_queries, const float* states, std::size_t rows,
                                 tensor& gradient) const;

  private:
    execution& run_;
    const tensor& weight_;
    const precision numbers_;
};

// The gradient of the memory from those of `positions` contexts of every sample, which the shares made in float32.
result<void> memory_gradient(execution& run, const additive_memory& m, std::size_t positions,
                             const float* shares, const float* to_contexts, tensor& gradient);

} // namespace troupe::cuda
