// The logistic function, for activations and gates.
#pragma once

#include <cuda_runtime.h>

namespace troupe::cuda {

__device__ inline float sigmoid(float x) {
    return 1 / (1 + expf(-x));
}

} // namespace troupe::cuda
