#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/reference/reference_operations.hpp"

namespace troupe {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

float no_nan(float x) {
    return std::isnan(x) ? infinity : x;
}

} // namespace

result<void> reference_operations::compute(const compensate_delay& op) {
    for (std::size_t i = 0; i < op.gradient.elements(); ++i) {
        const double g = double{op.gradient.values<float>()[i]};
        const double moved =
            double{op.weight.values<float>()[i]} - double{op.pulled.values<float>()[i]};
        double factor = double{op.factor};
        if (op.mean_square != nullptr) {
            const double mean = double{op.decay} * double{op.mean_square->values<float>()[i]} +
                                (1 - double{op.decay}) * g * g;
            op.new_mean_square->mutable_values<float>()[i] = static_cast<float>(mean);
            factor /= std::sqrt(mean + double{compensate_delay::epsilon});
        }
        op.corrected.mutable_values<float>()[i] = static_cast<float>(g + factor * g * g * moved);
    }
    return {};
}

result<void> reference_operations::compute(const trimmed_mean& op) {
    std::vector<float> sorted(op.inputs.size());
    for (std::size_t i = 0; i < op.output.elements(); ++i) {
        std::ranges::transform(op.inputs, sorted.begin(),
                               [&](const tensor& t) { return no_nan(t.values<float>()[i]); });
        std::ranges::sort(sorted);
        double sum = 0;
        for (std::size_t k = op.trim; k + op.trim < sorted.size(); ++k)
            sum += double{sorted[k]};
        op.output.mutable_values<float>()[i] =
            static_cast<float>(sum / static_cast<double>(sorted.size() - 2 * op.trim));
    }
    return {};
}

result<void> reference_operations::compute(const largest_difference& op) {
    op.largest = 0;
    for (std::size_t i = 0; i < op.x.elements(); ++i)
        op.largest = std::max(op.largest,
                              no_nan(std::abs(op.x.values<float>()[i] - op.y.values<float>()[i])));
    return {};
}

} // namespace troupe
