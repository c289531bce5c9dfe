#include "kernels/cpu/cpu_operations.hpp"

#include "kernels/cpu/arithmetic_scope.hpp"
#include "kernels/cpu/floats.hpp"
#include "kernels/cpu/loops.hpp"

namespace troupe {

using cpu::floats;

result<void> cpu_operations::compute(const momentum_update& op) {
    const cpu::arithmetic_scope scope;
    loops_.momentum_update(op.learning_rate, op.momentum, floats(op.gradient), floats(op.weight),
                           floats(op.velocity), floats(op.new_weight), floats(op.new_velocity),
                           op.weight.elements());
    return {};
}

} // namespace troupe
