// Where the pools of a CUDA device take their memory from.
#pragma once

#include <cuda_runtime.h>

#include <memory>

#include "kernels/tensor/memory.hpp"

namespace troupe::cuda {

// Memory of the GPU, in the order of the stream: what is given back may still be used by what is in the stream.
class stream_memory final : public memory_source {
  public:
    stream_memory(int device, cudaStream_t stream) : device_{device}, stream_{stream} {}

    std::byte* take(std::size_t bytes) override;
    void give_back(std::byte* memory, std::size_t bytes) override;

  private:
    const int device_;
    const cudaStream_t stream_;
};

// Memory of the host, where the GPU copies from and to by itself.
std::unique_ptr<memory_source> pinned_memory(int device);

} // namespace troupe::cuda
