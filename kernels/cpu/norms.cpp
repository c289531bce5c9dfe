#include "kernels/cpu/arithmetic_scope.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/cpu/floats.hpp"
#include "kernels/cpu/norm_loops.hpp"

namespace troupe {

using cpu::floats;

namespace {

// Without mean and bias.
template <class Forward>
cpu::row_norm_task forward_task(const Forward& op) {
    return {.rows = op.inverse_deviation.elements(),
            .width = op.weight.elements(),
            .epsilon = op.epsilon,
            .x = floats(op.input),
            .weight = floats(op.weight),
            .bias = nullptr,
            .y = floats(op.output),
            .mean = nullptr,
            .inverse_deviation = floats(op.inverse_deviation)};
}

template <class Backward>
cpu::row_norm_back_task backward_task(const Backward& op) {
    return {.rows = op.inverse_deviation.elements(),
            .width = op.weight.elements(),
            .x = floats(op.input),
            .weight = floats(op.weight),
            .mean = nullptr,
            .inverse_deviation = floats(op.inverse_deviation),
            .dy = floats(op.output_gradient),
            .dx = op.input_gradient != nullptr ? floats(*op.input_gradient) : nullptr,
            .dweight = floats(op.weight_gradient),
            .dbias = nullptr};
}

} // namespace

result<void> cpu_operations::compute(const layer_norm_forward& op) {
    const cpu::arithmetic_scope scope;
    auto task = forward_task(op);
    task.bias = floats(op.bias);
    task.mean = floats(op.mean);
    norm_loops_.layer_norm(task);
    return {};
}

result<void> cpu_operations::compute(const layer_norm_backward& op) {
    const cpu::arithmetic_scope scope;
    auto task = backward_task(op);
    task.mean = floats(op.mean);
    task.dbias = floats(op.bias_gradient);
    norm_loops_.layer_norm_back(task);
    return {};
}

result<void> cpu_operations::compute(const rms_norm_forward& op) {
    const cpu::arithmetic_scope scope;
    norm_loops_.rms_norm(forward_task(op));
    return {};
}

result<void> cpu_operations::compute(const rms_norm_backward& op) {
    const cpu::arithmetic_scope scope;
    norm_loops_.rms_norm_back(backward_task(op));
    return {};
}

} // namespace troupe
