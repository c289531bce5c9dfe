#include <algorithm>
#include <cmath>

#include "kernels/reference/reference_operations.hpp"

namespace troupe {

result<void> reference_operations::compute(const softmax_cross_entropy& op) {
    const std::size_t rows = op.labels.elements();
    const std::size_t classes = op.logits.elements() / std::max<std::size_t>(rows, 1);
    const double smoothing = double{op.label_smoothing};
    // How much of the truth each class has, and how much more the label.
    const double each = smoothing / static_cast<double>(classes);
    const double of_label = 1 - smoothing;
    op.sums = {};
    for (std::size_t r = 0; r < rows; ++r) {
        const auto row = op.logits.values<float>().subspan(r * classes, classes);
        const bool counted = op.labels.values<std::int32_t>()[r] != op.ignored_label;
        const auto label = static_cast<std::size_t>(op.labels.values<std::int32_t>()[r]);
        // Shifted by the largest, so that exp does not overflow.
        const double largest = double{*std::ranges::max_element(row)};
        double total = 0;
        for (const float x : row)
            total += std::exp(double{x} - largest);
        const auto log_share = [&](std::size_t c) {
            return double{row[c]} - largest - std::log(total);
        };
        if (counted) {
            op.sums.loss -= of_label * log_share(label);
            for (std::size_t c = 0; c < classes && each > 0; ++c)
                op.sums.loss -= each * log_share(c);
            bool correct = true; // written so that a NaN is never correct
            for (std::size_t c = 0; c < classes; ++c)
                correct = correct && (c < label ? row[c] < row[label] : row[c] <= row[label]);
            ++op.sums.counted;
            op.sums.correct += correct;
        }
        if (op.gradient != nullptr)
            for (std::size_t c = 0; c < classes; ++c) {
                const double truth = each + (c == label ? of_label : 0);
                op.gradient->mutable_values<float>()[r * classes + c] =
                    counted
                        ? static_cast<float>(double{op.scale} * (std::exp(log_share(c)) - truth))
                        : 0;
            }
    }
    return {};
}

result<void> reference_operations::compute(const mean_squared_error& op) {
    const auto outputs = op.outputs.values<float>();
    const auto targets = op.targets.values<float>();
    const double of_sample = static_cast<double>(op.outputs.elements() / op.outputs.shape()[0]);
    op.sum = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const double difference = double{outputs[i]} - double{targets[i]};
        op.sum += difference * difference / of_sample;
        if (op.gradient != nullptr)
            op.gradient->mutable_values<float>()[i] =
                static_cast<float>(double{op.scale} * 2 * difference / of_sample);
    }
    return {};
}

} // namespace troupe
