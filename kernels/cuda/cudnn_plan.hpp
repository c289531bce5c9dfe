// How cuDNN computes a graph: an engine of its, chosen by the graph's shapes, the GPU and cuDNN's version alone, and the
// scratch memory that it needs.
//
// Engines are asked of cuDNN's heuristics, the fastest first, and the first that will do is taken. It gives the same bits
// every time; it takes numbers as they are, or rounded to TF32 where that is allowed, and nothing coarser; it transforms no
// numbers (Winograd, Fourier).
#pragma once

#include <optional>

#include "kernels/cuda/cudnn_graph.hpp"

namespace troupe::cuda {

// The GPU that a plan is for: that of a handle, or without one that of a finished descriptor of its properties (for tests
// on machines without a GPU; cuDNN 9.8 or later).
struct cudnn_target {
    dnn::cudnnHandle_t handle = nullptr;
    dnn::cudnnBackendDescriptor_t properties = nullptr;
};

struct engine_rules {
    bool may_round = false; // float32 to TF32: by tensor cores
    // At run time, which takes up to a second of attention, up to 17 of a convolution, and one more library.
    bool may_compile = false;
    std::size_t workspace_min = 0, workspace_max = 0; // of scratch memory, in bytes
};

class cudnn_plan {
  public:
    // None where no engine will do.
    static std::optional<cudnn_plan> make(const dnn::functions& cudnn, const cudnn_target& target,
                                          cudnn_graph graph, const engine_rules& rules);

    std::size_t workspace_bytes() const noexcept { return workspace_bytes_; }

    // Puts it into the stream of the handle. `operands` are addresses in the device's memory, or of what is given by value
    // in the host's, or null where the graph has no such tensor.
    dnn::cudnnStatus_t run(const dnn::functions& cudnn, dnn::cudnnHandle_t handle,
                           std::span<void* const> operands, void* workspace) const;

  private:
    explicit cudnn_plan(cudnn_descriptors parts) : parts_{std::move(parts)} {}

    cudnn_descriptors parts_; // of the graph: a plan may look at them
    dnn::cudnnBackendDescriptor_t plan_ = nullptr;
    std::size_t workspace_bytes_ = 0;
};

} // namespace troupe::cuda
