#include "kernels/ops/updates.hpp"

#include "kernels/ops/operand_check.hpp"

namespace troupe {

result<void> momentum_update::check() const {
    const auto& shape = weight.shape();
    return operand_check{"momentum_update"}
        .is("weight", weight, shape)
        .is("gradient", gradient, shape)
        .is("velocity", velocity, shape)
        .is("new_weight", new_weight, shape)
        .is("new_velocity", new_velocity, shape)
        .outcome();
}

} // namespace troupe
