// Convolutions and attention by cuDNN, where a machine has it: libcudnn.so.9 is looked for at the first of them, and
// without it, or where it does not take a shape, all goes the way of convolution.hpp, or of the kernels of attention.
//
// Sums are float32. Factors of a convolution's 16-bit products are rounded first and kept as float32: TF32, which tensor
// cores take, holds them exactly. The bits depend on shapes, the GPU and cuDNN's version alone; operands at odd addresses
// are copied first.
//
// Threads: one at a time.
#pragma once

#include <array>
#include <initializer_list>
#include <memory>

#include "kernels/cuda/cudnn_attention.hpp"
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
    result<bool> forward(const conv2d_forward& op, execution& run); // without the bias
    struct gradients {
        bool weight = false, input = false;
    };
    result<gradients> backward(const conv2d_backward& op, execution& run); // without the bias's

    // Whether it takes attention of this shape, as far as planning tells. The first of a shape takes up to a second.
    bool takes(const attention_shape& shape);
    // By attention_operand; null for those that the shape has not.
    using attention_places = std::array<void*, attention_operands>;
    // Computes a shape that it takes. `of` are named where it fails.
    result<bool> attend(const attention_shape& shape, const attention_places& places,
                        execution& run, std::initializer_list<const tensor*> of);

  private:
    class state;
    state& opened();

    std::unique_ptr<state> state_; // null until the first call
};

} // namespace troupe::cuda
