// The loops of kernels/ops/gradients.hpp, compiled once per instruction set as those of loops.hpp and under the same rule:
// no result depends on the instruction set.
#pragma once

#include <cstddef>

namespace troupe::cpu {

// As compensate_delay; without a mean square these two are null. Outputs may be the same memory as inputs.
struct compensation_task {
    std::size_t count;
    float factor;
    float decay;
    const float* gradient;
    const float* weight;
    const float* pulled;
    const float* mean_square;
    float* corrected;
    float* new_mean_square;
};

struct gradient_loops {
    void (*compensate)(compensation_task task);
    void (*trimmed_mean)(const float* const* inputs, std::size_t count_inputs, std::size_t trim,
                         float* output, std::size_t count);
    float (*largest_difference)(const float* x, const float* y, std::size_t count);
};

extern const gradient_loops gradient_loops_baseline;
extern const gradient_loops gradient_loops_avx2;
extern const gradient_loops gradient_loops_avx512;

} // namespace troupe::cpu
