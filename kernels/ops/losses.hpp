// Losses, which training minimises. They are given as sums, so that those of microbatches add up to that of their minibatch.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/tensor/tensor.hpp"

namespace troupe {

struct softmax_cross_entropy_sums {
    double loss = 0;           // over the counted rows
    std::uint64_t counted = 0; // rows whose label is not the ignored one
    std::uint64_t correct = 0; // counted rows whose label's logit is the (first) largest
};

// With p = softmax(logits[r]) and e = label_smoothing:
// loss[r] = -(1 - e) * log(p[labels[r]]) - e * (mean over c of log(p[c])); 0 for a row with the ignored label.
// errc::data for another label that is no class. As PyTorch's CrossEntropyLoss, whose mean is loss / counted.
struct softmax_cross_entropy {
    const tensor& logits; // (rows..., classes)
    const tensor& labels; // (rows...), int32
    float scale;          // of the gradient
    tensor* gradient; // like logits: scale * d(loss sum)/d(logits), or null where nobody wants it
    softmax_cross_entropy_sums& sums;
    float label_smoothing = 0;                 // in 0..1
    std::optional<std::int32_t> ignored_label; // may be no class

    result<void> check() const;
};

// The error for the label at this place of all labels, in row-major order.
error bad_label(const tensor_shape& labels, std::size_t row, std::int32_t label,
                std::size_t classes);

// sum = sum over samples of the mean over a sample's elements of (outputs - targets)^2. PyTorch's MSELoss is the sum
// divided by the samples.
struct mean_squared_error {
    const tensor& outputs; // (samples, ...)
    const tensor& targets; // like outputs, float32
    float scale;           // of the gradient
    tensor* gradient;      // like outputs: scale * d(sum)/d(outputs), or null where nobody wants it
    double& sum;

    result<void> check() const;
};

} // namespace troupe
