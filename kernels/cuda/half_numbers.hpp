// Numbers of 16 bits.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace troupe::cuda {

// Puts into the stream: to[i] = from[i] rounded to bfloat16, as precision::bfloat16 says.
cudaError_t round_to_bf16(const float* from, std::uint16_t* to, std::size_t count,
                          cudaStream_t stream);
// The same, as float32.
cudaError_t round_to_bf16(const float* from, float* to, std::size_t count, cudaStream_t stream);

} // namespace troupe::cuda
