#include "kernels/reference/reference_operations.hpp"

namespace troupe {

result<void> reference_operations::compute(const momentum_update& op) {
    for (std::size_t i = 0; i < op.weight.elements(); ++i) {
        const float velocity =
            op.momentum * op.velocity.values<float>()[i] + op.gradient.values<float>()[i];
        op.new_weight.mutable_values<float>()[i] =
            op.weight.values<float>()[i] - op.learning_rate * velocity;
        op.new_velocity.mutable_values<float>()[i] = velocity;
    }
    return {};
}

} // namespace troupe
