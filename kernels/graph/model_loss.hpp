// The loss, which training minimises: a function of the last layer's outputs and the samples' labels, as `model.loss` of the
// app file says.
//
// Const methods are thread-safe; compute_context belongs to the thread that runs the work.
#pragma once

#include <cstdint>

#include "kernels/device/device.hpp"
#include "kernels/graph/value_form.hpp"

namespace troupe {

struct loss_result {
    double loss_sum = 0;       // over the counted labels or samples
    std::uint64_t counted = 0; // as by count_labels()
    std::uint64_t correct = 0; // counted labels with the largest output; 0 if labels are numbers
    tensor gradient; // of `scale` times loss_sum, shaped as the outputs; empty if scale is 0
};

class model_loss {
  public:
    // `outputs`: the shape of one sample's outputs. errc::usage if the loss cannot take them.
    static result<model_loss> create(proto::Loss::Reader description, const tensor_shape& outputs);

    // The form of the labels of one sample.
    const value_form& labels() const noexcept { return labels_; }

    // errc::data for a label that is no class. With the same scale, 1 / counted of the minibatch, the gradients of
    // microbatches add up to that of the minibatch.
    result<loss_result> run(compute_context& context, const tensor& outputs, const tensor& labels,
                            float scale) const;

  private:
    value_form labels_;
    float label_smoothing_ = 0;
};

} // namespace troupe
