// Attention of one head of one sample (kernels/ops/sequences.hpp), compiled once per instruction set. As with oneDNN's
// products, the bits depend on the instruction set: multiply-adds are one instruction where there is one.
#pragma once

#include <cstddef>

namespace troupe::cpu {

// Rows of a matrix, one for each position, `stride` floats apart.
struct position_rows {
    const float* first;
    std::size_t stride;
};
struct mutable_position_rows {
    float* first;
    std::size_t stride;
};

struct attention_head {
    std::size_t queries;
    std::size_t keys; // that anybody sees; at least 1
    std::size_t width;
    bool causal;
    position_rows q, k, v;
};

struct attention_head_forward {
    attention_head head;
    mutable_position_rows output;
    float* log_sums;
    const attention_head_forward* next =
        nullptr; // whose rows are fetched into the cache meanwhile; or none
};

// Writes the rows of keys that anybody sees, and no others.
struct attention_head_backward {
    attention_head head;
    position_rows output, output_gradient;
    const float* log_sums;
    mutable_position_rows to_q, to_k, to_v;
    const attention_head_backward* next = nullptr; // as above
};

// The workspace has floats(keys, width) floats, for that many keys and heads of this width, at a multiple of 64 bytes.
struct attention_loops {
    std::size_t (*floats)(std::size_t keys, std::size_t width);
    void (*forward)(const attention_head_forward& task, float* workspace);
};
struct attention_back_loops {
    std::size_t (*floats)(std::size_t keys, std::size_t width);
    void (*backward)(const attention_head_backward& task, float* workspace);
};

extern const attention_loops attention_loops_baseline;
extern const attention_loops attention_loops_avx2;
extern const attention_loops attention_loops_avx512;
extern const attention_back_loops attention_back_loops_baseline;
extern const attention_back_loops attention_back_loops_avx2;
extern const attention_back_loops attention_back_loops_avx512;

} // namespace troupe::cpu
