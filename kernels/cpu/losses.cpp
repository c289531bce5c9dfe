#include "kernels/cpu/cpu_operations.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/arithmetic_scope.hpp"
#include "kernels/cpu/floats.hpp"

namespace troupe {

using cpu::floats;

result<void> cpu_operations::compute(const softmax_cross_entropy& op) {
    const cpu::arithmetic_scope scope;
    const std::size_t samples = op.logits.shape()[0];
    const std::size_t classes = op.logits.shape()[1];
    op.sums = {};
    for (std::size_t s = 0; s < samples; ++s) {
        const float* row = floats(op.logits) + s * classes;
        float* gradient = op.gradient != nullptr ? floats(*op.gradient) + s * classes : nullptr;
        const auto label = static_cast<std::size_t>(op.labels.values<std::int32_t>()[s]);
        const float largest = *std::max_element(row, row + classes);
        double total = 0;
        bool correct = true; // written so that a NaN is never correct
        for (std::size_t c = 0; c < classes; ++c) {
            const float power = std::exp(row[c] - largest);
            total += double{power};
            if (gradient != nullptr)
                gradient[c] = power;
            correct = correct && (c < label ? row[c] < row[label] : row[c] <= row[label]);
        }
        op.sums.loss += std::log(total) + double{largest} - double{row[label]};
        op.sums.correct += correct;
        if (gradient != nullptr) {
            const float share = static_cast<float>(double{op.scale} / total);
            for (std::size_t c = 0; c < classes; ++c)
                gradient[c] *= share;
            gradient[label] -= op.scale;
        }
    }
    return {};
}

} // namespace troupe
