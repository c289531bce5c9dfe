// Convolutions by cuDNN, where a machine has it: libcudnn.so.9 is looked for at the first convolution, and without it, or
// where it does not take a shape, all goes the way of convolution.hpp.
//
// Sums are float32. Factors of 16-bit products are rounded first and kept as float32: TF32, which tensor cores take, holds
// them exactly. The bits depend on shapes, the GPU and cuDNN's version alone; operands at odd addresses are copied first.
//
// Threads: one at a time.
#pragma once

#include <memory>

#include "kernels/ops/images.hpp"

namespace troupe::cuda {

class execution;

class cudnn {
  public:
    cudnn();
    ~cudnn();
    cudnn(const cudnn&) = delete;
    cudnn& operator=(const cudnn&) = delete;

    // Each puts its part of an operation into the stream; false where it does not take it. It is always the same execution.
    // The first of a shape is not recorded: planning it may load kernels.
    result<bool> forward(const conv2d_forward& op, execution& run); // without the bias
    result<bool> to_input(const conv2d_backward& op, execution& run);
    result<bool> to_weight(const conv2d_backward& op, execution& run);

  private:
    class state;
    state& opened();

    std::unique_ptr<state> state_; // null until the first call
};

} // namespace troupe::cuda
