#include "kernels/cpu/batch_norm_loops.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/cpu/floats.hpp"
#include "kernels/cpu/guarded.hpp"
#include "kernels/cpu/response_norm_loops.hpp"

namespace troupe {

using cpu::floats;

namespace {

// The product of the dimensions after the channels.
std::size_t pixels_of(const tensor_shape& shape) {
    return shape.elements() / shape[0] / shape[1];
}

cpu::response_norm_task response_task(const local_response_norm_settings& settings,
                                      const tensor& input) {
    const auto& shape = input.shape();
    return {.samples = shape[0],
            .channels = shape[1],
            .pixels = pixels_of(shape),
            .block = settings.block,
            .size = settings.size,
            .share = settings.alpha / static_cast<float>(settings.size),
            .beta = settings.beta,
            .k = settings.k,
            .x = floats(input),
            .dy = nullptr,
            .y = nullptr,
            .workspace = nullptr};
}

// Runs the loop with a workspace.
result<void> normalise(memory_pool& pool, void (*loop)(cpu::response_norm_task),
                       cpu::response_norm_task task) {
    return cpu::guarded([&] {
        const cpu::scratch space{pool, cpu::response_norm_pixels * (4 * task.channels + task.size) *
                                           sizeof(float)};
        task.workspace = space.floats();
        loop(task);
    });
}

} // namespace

result<void> cpu_operations::compute(const batch_norm_forward& op) {
    const cpu::arithmetic_scope scope;
    const auto& shape = op.input.shape();
    batch_norm_loops_.forward({.samples = shape[0],
                               .channels = shape[1],
                               .pixels = pixels_of(shape),
                               .block = op.settings.block,
                               .epsilon = op.settings.epsilon,
                               .x = floats(op.input),
                               .weight = floats(op.weight),
                               .bias = floats(op.bias),
                               .y = floats(op.output),
                               .mean = floats(op.mean),
                               .variance = floats(op.variance),
                               .inverse_deviation = floats(op.inverse_deviation)});
    return {};
}

result<void> cpu_operations::compute(const batch_norm_inference& op) {
    const cpu::arithmetic_scope scope;
    const auto& shape = op.input.shape();
    batch_norm_loops_.inference({.samples = shape[0],
                                 .channels = shape[1],
                                 .pixels = pixels_of(shape),
                                 .block = op.settings.block,
                                 .epsilon = op.settings.epsilon,
                                 .x = floats(op.input),
                                 .weight = floats(op.weight),
                                 .bias = floats(op.bias),
                                 .mean = floats(op.mean),
                                 .variance = floats(op.variance),
                                 .y = floats(op.output)});
    return {};
}

result<void> cpu_operations::compute(const batch_norm_backward& op) {
    const cpu::arithmetic_scope scope;
    const auto& shape = op.input.shape();
    batch_norm_loops_.backward(
        {.samples = shape[0],
         .channels = shape[1],
         .pixels = pixels_of(shape),
         .block = op.settings.block,
         .x = floats(op.input),
         .weight = floats(op.weight),
         .mean = floats(op.mean),
         .inverse_deviation = floats(op.inverse_deviation),
         .dy = floats(op.output_gradient),
         .dx = op.input_gradient != nullptr ? floats(*op.input_gradient) : nullptr,
         .dweight = floats(op.weight_gradient),
         .dbias = floats(op.bias_gradient)});
    return {};
}

result<void> cpu_operations::compute(const local_response_norm_forward& op) {
    auto task = response_task(op.settings, op.input);
    task.y = floats(op.output);
    return normalise(pool_, response_norm_loops_.forward, task);
}

result<void> cpu_operations::compute(const local_response_norm_backward& op) {
    auto task = response_task(op.settings, op.input);
    task.dy = floats(op.output_gradient);
    task.y = floats(op.input_gradient);
    return normalise(pool_, response_norm_loops_.backward, task);
}

} // namespace troupe
