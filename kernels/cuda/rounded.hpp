// Arithmetic whose bits a contract fixes, or that the other back ends do without multiply-adds.
#pragma once

#include <cuda_runtime.h>

namespace troupe::cuda {

// A float32 whose every sum, difference, product and quotient is rounded by itself: the compiler makes no multiply-add of
// them.
struct rounded {
    float value;

    __device__ rounded(float x) : value{x} {}

    friend __device__ rounded operator+(rounded a, rounded b) {
        return __fadd_rn(a.value, b.value);
    }
    friend __device__ rounded operator-(rounded a, rounded b) {
        return __fadd_rn(a.value, -b.value);
    }
    friend __device__ rounded operator*(rounded a, rounded b) {
        return __fmul_rn(a.value, b.value);
    }
    friend __device__ rounded operator/(rounded a, rounded b) {
        return __fdiv_rn(a.value, b.value);
    }
};

__device__ inline rounded root(rounded x) {
    return sqrtf(x.value);
}

} // namespace troupe::cuda
