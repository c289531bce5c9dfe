// Tensors of the host that work to come will want: they are copied to the device on a stream of their own, while the GPU
// computes.
//
// Memory of the device's pool may still be used by what is in the stream of work when the pool gives it out: a copy begins
// when that is through, and work that takes what was copied waits for the copy on the GPU, not on the host.
//
// Threads: one at a time.
#pragma once

#include <cuda_runtime.h>

#include <deque>

#include "kernels/cuda/execution.hpp"
#include "kernels/device/device.hpp"

namespace troupe::cuda {

class early_copies final : public early_tensors {
  public:
    // `memory` is that of `run`'s device.
    early_copies(execution& run, memory_pool& memory);
    ~early_copies() override;
    early_copies(const early_copies&) = delete;
    early_copies& operator=(const early_copies&) = delete;

    // Not for a tensor that is on its way. Where it fails, whoever needs the tensor brings it in.
    void begin(const tensor& t);

    result<std::optional<tensor>> taken(const tensor& t) override;

  private:
    struct copy {
        tensor from, to;
        cudaEvent_t end = nullptr;
    };
    result<copy> begun(const tensor& t);

    execution& run_;
    memory_pool& memory_;
    cudaStream_t stream_ = nullptr; // of copies alone; null until the first
    cudaEvent_t before_ = nullptr;  // where the stream of work was when a copy was asked for
    std::deque<copy> waiting_;      // in the order in which they began
};

} // namespace troupe::cuda
