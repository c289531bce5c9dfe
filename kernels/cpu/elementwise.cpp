#include "kernels/cpu/cpu_operations.hpp"

#include <algorithm>

#include "kernels/cpu/arithmetic_scope.hpp"
#include "kernels/cpu/floats.hpp"
#include "kernels/cpu/loops.hpp"
#include "kernels/cpu/pointwise_loops.hpp"

namespace troupe {

using cpu::floats;

namespace {

const cpu::pointwise_loops::function& loops_of(const cpu::pointwise_loops& loops, pointwise f) {
    switch (f) {
    case pointwise::relu:
        return loops.relu;
    case pointwise::gelu:
        return loops.gelu;
    case pointwise::gelu_tanh:
        return loops.gelu_tanh;
    case pointwise::silu:
        return loops.silu;
    case pointwise::sigmoid:
        return loops.sigmoid;
    case pointwise::tanh:
        break;
    }
    return loops.tanh;
}

} // namespace

result<void> cpu_operations::compute(const pointwise_forward& op) {
    const cpu::arithmetic_scope scope;
    loops_of(pointwise_loops_, op.function)
        .forward(floats(op.input), floats(op.output), op.input.elements());
    return {};
}

result<void> cpu_operations::compute(const pointwise_backward& op) {
    const cpu::arithmetic_scope scope;
    loops_of(pointwise_loops_, op.function)
        .backward(floats(op.kept), floats(op.output_gradient), floats(op.input_gradient),
                  op.kept.elements());
    return {};
}

result<void> cpu_operations::compute(const swiglu_forward& op) {
    const cpu::arithmetic_scope scope;
    pointwise_loops_.swiglu(floats(op.gate), floats(op.up), floats(op.output), op.gate.elements());
    return {};
}

result<void> cpu_operations::compute(const swiglu_backward& op) {
    const cpu::arithmetic_scope scope;
    pointwise_loops_.swiglu_back(floats(op.gate), floats(op.up), floats(op.output_gradient),
                                 floats(op.gate_gradient), floats(op.up_gradient),
                                 op.gate.elements());
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
