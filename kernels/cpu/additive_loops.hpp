// The loops of additive attention (kernels/ops/additive_attention.hpp), compiled once per instruction set as those of
// loops.hpp and under the same rule: no result depends on the instruction set. A loop takes one state of every sample.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/sample_rows.hpp"

namespace troupe::cpu {

struct additive_memory {
    std::size_t samples;
    std::size_t source;
    std::size_t width; // of memory
    std::size_t attention_width;
    const float* values;         // (samples, source, width): h
    const float* projected;      // (samples, source, attention_width): U h
    const std::int32_t* lengths; // (samples), or null: source
    const float* score_weight;   // (attention_width): v
};

struct additive_forward_task {
    sample_rows<const float> query; // attention_width: W s
    sample_rows<float> shares;
    sample_rows<float> context;
    float* scratch; // attention_width
};

struct additive_backward_task {
    sample_rows<const float> query;
    sample_rows<const float> shares;
    sample_rows<const float> to_context;
    sample_rows<float> to_query;
    float* to_projected;    // like projected; added to
    float* to_score_weight; // (attention_width); added to
    float* scratch;         // source
};

struct additive_loops {
    void (*forward)(const additive_memory& memory, const additive_forward_task& task);
    void (*backward)(const additive_memory& memory, const additive_backward_task& task);
};

extern const additive_loops additive_loops_baseline;
extern const additive_loops additive_loops_avx2;
extern const additive_loops additive_loops_avx512;

} // namespace troupe::cpu
