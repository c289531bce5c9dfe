// The loops of batch normalisation (kernels/ops/image_norms.hpp), compiled once per instruction set as those of loops.hpp
// and under the same rule: no result depends on the instruction set.
#pragma once

#include <cstddef>

namespace troupe::cpu {

// Operands as those of the operations; images are (samples, channels / block, pixels, block) in memory.
struct batch_norm_task {
    std::size_t samples, channels, pixels;
    std::size_t block;
    float epsilon;
    const float* x;
    const float* weight;
    const float* bias;
    float* y;
    float* mean;
    float* variance;
    float* inverse_deviation;
};

struct batch_norm_inference_task {
    std::size_t samples, channels, pixels;
    std::size_t block;
    float epsilon;
    const float* x;
    const float* weight;
    const float* bias;
    const float* mean;
    const float* variance;
    float* y;
};

struct batch_norm_back_task {
    std::size_t samples, channels, pixels;
    std::size_t block;
    const float* x;
    const float* weight;
    const float* mean;
    const float* inverse_deviation;
    const float* dy;
    float* dx; // null where nobody wants it
    float* dweight;
    float* dbias;
};

struct batch_norm_loops {
    void (*forward)(batch_norm_task task);
    void (*inference)(batch_norm_inference_task task);
    void (*backward)(batch_norm_back_task task);
};

extern const batch_norm_loops batch_norm_loops_baseline;
extern const batch_norm_loops batch_norm_loops_avx2;
extern const batch_norm_loops batch_norm_loops_avx512;

} // namespace troupe::cpu
