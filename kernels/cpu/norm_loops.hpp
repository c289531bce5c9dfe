// The loops of normalisations of rows (kernels/ops/norms.hpp), compiled once per instruction set as those of loops.hpp and
// under the same rule: no result depends on the instruction set.
#pragma once

#include <cstddef>

namespace troupe::cpu {

// Operands as those of the operations; mean and bias are null for a norm by the root mean square.
struct row_norm_task {
    std::size_t rows, width;
    float epsilon;
    const float* x;
    const float* weight;
    const float* bias;
    float* y;
    float* mean;
    float* inverse_deviation;
};

struct row_norm_back_task {
    std::size_t rows, width;
    const float* x;
    const float* weight;
    const float* mean;
    const float* inverse_deviation;
    const float* dy;
    float* dx; // null where nobody wants it
    float* dweight;
    float* dbias;
};

struct norm_loops {
    void (*layer_norm)(row_norm_task task);
    void (*layer_norm_back)(row_norm_back_task task);
    void (*rms_norm)(row_norm_task task);
    void (*rms_norm_back)(row_norm_back_task task);
};

extern const norm_loops norm_loops_baseline;
extern const norm_loops norm_loops_avx2;
extern const norm_loops norm_loops_avx512;

} // namespace troupe::cpu
