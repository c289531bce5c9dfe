// The loops of losses (kernels/ops/losses.hpp), compiled once per instruction set as those of loops.hpp and under the same
// rule: no result depends on the instruction set.
#pragma once

#include <cstddef>

namespace troupe::cpu {

struct loss_loops {
    struct softmax_sums {
        float largest; // x
        double total;  // of e^(x - largest); NaN where an x is
    };
    // powers[i] = e^(x[i] - largest), where powers is not null.
    softmax_sums (*softmax)(const float* x, float* powers, std::size_t count);
    // y[i] = factor * y[i] - less
    void (*scale)(float* y, float factor, float less, std::size_t count);
    double (*sum)(const float* x, std::size_t count);
    // The sum of (x[i] - y[i])^2; difference[i] = factor * (x[i] - y[i]), where it is not null.
    double (*squared_error)(const float* x, const float* y, float factor, float* difference,
                            std::size_t count);
};

extern const loss_loops loss_loops_baseline;
extern const loss_loops loss_loops_avx2;
extern const loss_loops loss_loops_avx512;

} // namespace troupe::cpu
