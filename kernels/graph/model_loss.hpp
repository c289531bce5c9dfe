// What training minimises, of the last layer's outputs and the labels of the samples, as `model.loss` of the app file says.
//
// Const methods are thread-safe; compute_context belongs to the thread that runs the work.
#pragma once

#include <cstdint>

#include "kernels/device/device.hpp"
#include "kernels/graph/value_form.hpp"

namespace troupe {

struct loss_result {
    double loss_sum = 0;       // over what is counted
    std::uint64_t counted = 0; // as count_labels says
    std::uint64_t correct = 0; // counted labels whose output is the largest; of numbers 0
    tensor gradient;           // like the outputs, of `scale` times loss_sum; empty when scale is 0
};

class model_loss {
  public:
    // For outputs of one sample of this shape. errc::usage where the loss cannot take them.
    static result<model_loss> create(proto::Loss::Reader description, const tensor_shape& outputs);

    // What it takes beside the outputs.
    const value_form& labels() const noexcept { return labels_; }

    // errc::data for a label that is no class. The gradients of microbatches add up to that of their minibatch with the same
    // scale, which is 1 / counted of the minibatch.
    result<loss_result> run(compute_context& context, const tensor& outputs, const tensor& labels,
                            float scale) const;

  private:
    value_form labels_;
    float label_smoothing_ = 0;
};

} // namespace troupe
