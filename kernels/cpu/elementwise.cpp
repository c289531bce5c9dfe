#include "kernels/cpu/cpu_operations.hpp"

#include <algorithm>

#include "kernels/cpu/arithmetic_scope.hpp"
#include "kernels/cpu/floats.hpp"
#include "kernels/cpu/loops.hpp"

namespace troupe {

using cpu::floats;

result<void> cpu_operations::compute(const relu_forward& op) {
    const cpu::arithmetic_scope scope;
    loops_.relu_forward(floats(op.input), floats(op.output), op.input.elements());
    return {};
}

result<void> cpu_operations::compute(const relu_backward& op) {
    const cpu::arithmetic_scope scope;
    loops_.relu_backward(floats(op.output), floats(op.output_gradient), floats(op.input_gradient),
                         op.output.elements());
    return {};
}

result<void> cpu_operations::compute(const add_scaled& op) {
    const cpu::arithmetic_scope scope;
    loops_.add_scaled(floats(op.x), op.factor, floats(op.y), floats(op.sum), op.x.elements());
    return {};
}

result<void> cpu_operations::compute(const fill& op) {
    std::ranges::fill(op.output.mutable_values<float>(), op.value);
    return {};
}

} // namespace troupe
