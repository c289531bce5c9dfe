#include "kernels/cpu/cpu_operations.hpp"

#include <algorithm>

#include "kernels/cpu/floats.hpp"
#include "kernels/cpu/guarded.hpp"
#include "kernels/cpu/loops.hpp"
#include "kernels/cpu/multiplier.hpp"

namespace troupe {

using cpu::floats;

result<void> cpu_operations::compute(const linear_forward& op) {
    const std::size_t samples = op.input.shape()[0];
    const std::size_t outs = op.weight.shape()[0];
    const std::size_t ins = op.weight.shape()[1];
    tensor& sums = op.pre_activation != nullptr ? *op.pre_activation : op.output;
    float* output = floats(sums);
    for (std::size_t s = 0; s < samples && op.bias != nullptr; ++s)
        std::copy_n(floats(*op.bias), outs, output + s * outs);
    const auto done = cpu::guarded([&] {
        const cpu::multiplier multiply{pool_, bf16_loops_, product_loops_, op.products};
        multiply({.m = samples,
                  .n = outs,
                  .k = ins,
                  .a = {floats(op.input), ins},
                  .b = {floats(op.weight), ins, true},
                  .beta = op.bias != nullptr ? 1.f : 0.f,
                  .c = output,
                  .c_stride = outs});
    });
    if (!done || !op.activation)
        return done;
    return compute(pointwise_forward{*op.activation, sums, op.output});
}

result<void> cpu_operations::compute(const linear_backward& op) {
    const std::size_t samples = op.input.shape()[0];
    const std::size_t outs = op.weight.shape()[0];
    const std::size_t ins = op.weight.shape()[1];
    const float* gradient = floats(op.output_gradient);
    return cpu::guarded([&] {
        const cpu::multiplier multiply{pool_, bf16_loops_, product_loops_, op.products};
        if (op.bias_gradient != nullptr) {
            float* bias = floats(*op.bias_gradient);
            std::copy_n(gradient, outs, bias);
            for (std::size_t s = 1; s < samples; ++s)
                loops_.add_scaled(bias, 1, gradient + s * outs, bias, outs);
        }
        if (op.weight_gradient != nullptr)
            multiply({.m = outs,
                      .n = ins,
                      .k = samples,
                      .a = {gradient, outs, true},
                      .b = {floats(op.input), ins},
                      .c = floats(*op.weight_gradient),
                      .c_stride = ins});
        if (op.input_gradient != nullptr)
            multiply({.m = samples,
                      .n = ins,
                      .k = outs,
                      .a = {gradient, outs},
                      .b = {floats(op.weight), ins},
                      .c = floats(*op.input_gradient),
                      .c_stride = ins});
    });
}

} // namespace troupe
