#include "kernels/ops/gradients.hpp"

#include <array>

#include "kernels/cpu/arithmetic_scope.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/cpu/floats.hpp"
#include "kernels/cpu/gradient_loops.hpp"

namespace troupe {

using cpu::floats;

result<void> cpu_operations::compute(const compensate_delay& op) {
    const cpu::arithmetic_scope scope;
    gradient_loops_.compensate(
        {.count = op.gradient.elements(),
         .factor = op.factor,
         .decay = op.decay,
         .gradient = floats(op.gradient),
         .weight = floats(op.weight),
         .pulled = floats(op.pulled),
         .mean_square = op.mean_square ? floats(*op.mean_square) : nullptr,
         .corrected = floats(op.corrected),
         .new_mean_square = op.new_mean_square ? floats(*op.new_mean_square) : nullptr});
    return {};
}

result<void> cpu_operations::compute(const trimmed_mean& op) {
    const cpu::arithmetic_scope scope;
    std::array<const float*, trimmed_mean::inputs_max> inputs{};
    for (std::size_t k = 0; k < op.inputs.size(); ++k)
        inputs[k] = floats(op.inputs[k]);
    gradient_loops_.trimmed_mean(inputs.data(), op.inputs.size(), op.trim, floats(op.output),
                                 op.output.elements());
    return {};
}

result<void> cpu_operations::compute(const largest_difference& op) {
    const cpu::arithmetic_scope scope;
    op.largest = gradient_loops_.largest_difference(floats(op.x), floats(op.y), op.x.elements());
    return {};
}

} // namespace troupe
