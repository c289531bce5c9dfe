#include "kernels/cpu/cpu_operations.hpp"

#include <algorithm>

#include "kernels/cpu/arithmetic_scope.hpp"
#include "kernels/cpu/floats.hpp"
#include "kernels/cpu/loops.hpp"
#include "kernels/cpu/pointwise_loops.hpp"

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

result<void> cpu_operations::compute(const pointwise_forward& op) {
    const cpu::arithmetic_scope scope;
    const auto loop = [&] {
        switch (op.function) {
        case pointwise::gelu:
            return pointwise_loops_.gelu;
        case pointwise::gelu_tanh:
            return pointwise_loops_.gelu_tanh;
        case pointwise::silu:
            return pointwise_loops_.silu;
        case pointwise::sigmoid:
            return pointwise_loops_.sigmoid;
        case pointwise::tanh:
            break;
        }
        return pointwise_loops_.tanh;
    }();
    loop(floats(op.input), floats(op.output), op.input.elements());
    return {};
}

result<void> cpu_operations::compute(const pointwise_backward& op) {
    const cpu::arithmetic_scope scope;
    const auto loop = [&] {
        switch (op.function) {
        case pointwise::gelu:
            return pointwise_loops_.gelu_back;
        case pointwise::gelu_tanh:
            return pointwise_loops_.gelu_tanh_back;
        case pointwise::silu:
            return pointwise_loops_.silu_back;
        case pointwise::sigmoid:
            return pointwise_loops_.sigmoid_back;
        case pointwise::tanh:
            break;
        }
        return pointwise_loops_.tanh_back;
    }();
    loop(floats(op.input), floats(op.output_gradient), floats(op.input_gradient),
         op.input.elements());
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
