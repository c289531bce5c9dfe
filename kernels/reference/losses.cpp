#include <algorithm>
#include <cmath>

#include "kernels/reference/reference_operations.hpp"

namespace troupe {

result<void> reference_operations::compute(const softmax_cross_entropy& op) {
    const std::size_t samples = op.logits.shape()[0];
    const std::size_t classes = op.logits.shape()[1];
    op.sums = {};
    for (std::size_t s = 0; s < samples; ++s) {
        const auto row = op.logits.values<float>().subspan(s * classes, classes);
        const auto label = static_cast<std::size_t>(op.labels.values<std::int32_t>()[s]);
        // Shifted by the largest, so that exp does not overflow.
        const double largest = *std::ranges::max_element(row);
        double total = 0;
        for (float x : row)
            total += std::exp(x - largest);
        op.sums.loss += std::log(total) + largest - row[label];
        bool correct = true; // written so that a NaN is never correct
        for (std::size_t c = 0; c < classes; ++c)
            correct = correct && (c < label ? row[c] < row[label] : row[c] <= row[label]);
        op.sums.correct += correct;
        if (op.gradient != nullptr)
            for (std::size_t c = 0; c < classes; ++c)
                op.gradient->mutable_values<float>()[s * classes + c] = static_cast<float>(
                    op.scale * (std::exp(row[c] - largest) / total - (c == label ? 1 : 0)));
    }
    return {};
}

} // namespace troupe
