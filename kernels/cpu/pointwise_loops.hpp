// The loops of functions of one element (kernels/ops/elementwise.hpp), compiled once per instruction set as those of
// loops.hpp and under the same rule: no result depends on the instruction set. Exponentials are polynomials with a relative
// error below 3e-7, so that the compiler can compute a vector of them at a time.
#pragma once

#include <cstddef>

namespace troupe::cpu {

struct pointwise_loops {
    struct function {
        // y[i] = f(x[i]); y may be x
        void (*forward)(const float* x, float* y, std::size_t count);
        // dx[i] = f' * dy[i], f' at the input or output kept[i] (keeps_output); dx may be kept or dy
        void (*backward)(const float* kept, const float* dy, float* dx, std::size_t count);
    };

    function relu, gelu, gelu_tanh, silu, sigmoid, tanh;
    // y[i] = silu(gate[i]) * up[i]
    void (*swiglu)(const float* gate, const float* up, float* y, std::size_t count);
    void (*swiglu_back)(const float* gate, const float* up, const float* dy, float* dgate,
                        float* dup, std::size_t count);
};

extern const pointwise_loops pointwise_loops_baseline;
extern const pointwise_loops pointwise_loops_avx2;
extern const pointwise_loops pointwise_loops_avx512;

} // namespace troupe::cpu
