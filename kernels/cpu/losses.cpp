#include "kernels/cpu/cpu_operations.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/arithmetic_scope.hpp"
#include "kernels/cpu/floats.hpp"
#include "kernels/cpu/loss_loops.hpp"

namespace troupe {

using cpu::floats;

result<void> cpu_operations::compute(const softmax_cross_entropy& op) {
    const cpu::arithmetic_scope scope;
    const std::size_t classes = op.logits.shape().dimensions().back();
    // Target probability of each class, and the additional one of the label.
    const double each = double{op.label_smoothing} / static_cast<double>(classes);
    const double of_label = 1 - double{op.label_smoothing};
    const auto labels = op.labels.values<std::int32_t>();
    op.sums = {};
    for (std::size_t r = 0; r < labels.size(); ++r) {
        const float* row = floats(op.logits) + r * classes;
        float* gradient = op.gradient != nullptr ? floats(*op.gradient) + r * classes : nullptr;
        if (labels[r] == op.ignored_label) {
            if (gradient != nullptr)
                std::fill_n(gradient, classes, 0.f);
            continue;
        }
        const auto label = static_cast<std::size_t>(labels[r]);
        const auto [largest, total] = loss_loops_.softmax(row, gradient, classes);
        op.sums.loss += std::log(total) + double{largest} - of_label * double{row[label]};
        if (each > 0)
            op.sums.loss -= each * loss_loops_.sum(row, classes);
        ++op.sums.counted;
        op.sums.correct += !std::isnan(total) && row[label] == largest &&
                           std::find(row, row + label, largest) == row + label;
        if (gradient != nullptr) {
            const double scale = double{op.scale};
            loss_loops_.scale(gradient, static_cast<float>(scale / total),
                              static_cast<float>(scale * each), classes);
            gradient[label] -= static_cast<float>(scale * of_label);
        }
    }
    return {};
}

result<void> cpu_operations::compute(const mean_squared_error& op) {
    const cpu::arithmetic_scope scope;
    const std::size_t count = op.outputs.elements();
    const double of_sample = static_cast<double>(count / op.outputs.shape()[0]);
    const float factor = static_cast<float>(2 * double{op.scale} / of_sample);
    op.sum =
        loss_loops_.squared_error(floats(op.outputs), floats(op.targets), factor,
                                  op.gradient != nullptr ? floats(*op.gradient) : nullptr, count) /
        of_sample;
    return {};
}

} // namespace troupe
