#include <algorithm>

#include "kernels/reference/reference_operations.hpp"

namespace troupe {

result<void> reference_operations::compute(const relu_forward& op) {
    std::ranges::transform(op.input.values<float>(), op.output.mutable_values<float>().begin(),
                           [](float x) { return x < 0 ? 0 : x; });
    return {};
}

result<void> reference_operations::compute(const relu_backward& op) {
    std::ranges::transform(op.output.values<float>(), op.output_gradient.values<float>(),
                           op.input_gradient.mutable_values<float>().begin(),
                           [](float y, float g) { return y > 0 ? g : 0; });
    return {};
}

result<void> reference_operations::compute(const add_scaled& op) {
    std::ranges::transform(op.x.values<float>(), op.y.values<float>(),
                           op.sum.mutable_values<float>().begin(),
                           [&](float a, float b) { return a + op.factor * b; });
    return {};
}

result<void> reference_operations::compute(const fill& op) {
    std::ranges::fill(op.output.mutable_values<float>(), op.value);
    return {};
}

} // namespace troupe
