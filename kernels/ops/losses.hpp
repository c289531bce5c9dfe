// What training minimises.
#pragma once

#include <cstdint>

#include "kernels/tensor/tensor.hpp"

namespace troupe {

struct softmax_cross_entropy_sums {
    double loss = 0;           // sum over the samples
    std::uint64_t correct = 0; // samples whose label's logit is the (first) largest
};

// loss[s] = log(sum over c of exp(logits[s][c])) - logits[s][labels[s]]. errc::data for a label that is no class.
struct softmax_cross_entropy {
    const tensor& logits; // (samples, classes)
    const tensor& labels; // (samples), int32
    float scale;          // of the gradient
    tensor* gradient; // like logits: scale * d(loss sum)/d(logits), or null where nobody wants it
    softmax_cross_entropy_sums& sums;

    result<void> check() const;
};

} // namespace troupe
