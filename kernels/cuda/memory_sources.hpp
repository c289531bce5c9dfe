// Where the pools of a CUDA device take their memory from.
#pragma once

#include <cuda_runtime.h>

#include <memory>

#include "kernels/tensor/memory.hpp"

namespace troupe::cuda {

// Of the GPU, in the order of the stream: what is given back may still be used by what is in the stream.
std::unique_ptr<memory_source> device_memory(int device, cudaStream_t stream);

// Of the host, where the GPU copies from and to by itself.
std::unique_ptr<memory_source> pinned_memory(int device);

} // namespace troupe::cuda
