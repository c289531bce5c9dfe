// Functions of one number, for what else computes them behind its work.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/ops/elementwise.hpp"

namespace troupe::cuda {

// Puts into the stream: to[i] = function(from[i]); `to` may be `from`.
cudaError_t apply(pointwise function, const float* from, float* to, std::size_t count,
                  cudaStream_t stream);

} // namespace troupe::cuda
