#include "kernels/cuda/columns.hpp"
#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/elements.hpp"

namespace troupe {

result<void> cuda_operations::start(const linear_forward& op) {
    const std::size_t samples = op.input.shape()[0];
    const std::size_t outs = op.weight.shape()[0];
    const std::size_t ins = op.weight.shape()[1];
    return run_.multiply()({.m = samples,
                            .n = outs,
                            .k = ins,
                            .a = {cuda::floats(op.input), ins},
                            .b = {cuda::floats(op.weight), ins, true},
                            .c = cuda::floats(op.output),
                            .c_stride = outs,
                            .bias = cuda::floats(op.bias),
                            .activation = op.activation,
                            .pre_activation = cuda::floats(op.pre_activation),
                            .numbers = op.products},
                           run_.stream());
}

result<void> cuda_operations::start(const linear_backward& op) {
    const std::size_t samples = op.input.shape()[0];
    const std::size_t outs = op.weight.shape()[0];
    const std::size_t ins = op.weight.shape()[1];
    const float* gradient = cuda::floats(op.output_gradient);
    if (op.bias_gradient != nullptr)
        if (auto done =
                cuda::sum_rows({gradient, samples, outs, cuda::floats(*op.bias_gradient)}, run_);
            !done)
            return done;
    if (op.weight_gradient != nullptr)
        if (auto done = run_.multiply()({.m = outs,
                                         .n = ins,
                                         .k = samples,
                                         .a = {gradient, outs, true},
                                         .b = {cuda::floats(op.input), ins},
                                         .c = cuda::floats(*op.weight_gradient),
                                         .c_stride = ins,
                                         .numbers = op.products},
                                        run_.stream());
            !done)
            return done;
    if (op.input_gradient == nullptr)
        return {};
    return run_.multiply()({.m = samples,
                            .n = ins,
                            .k = outs,
                            .a = {gradient, outs},
                            .b = {cuda::floats(op.weight), ins},
                            .c = cuda::floats(*op.input_gradient),
                            .c_stride = ins,
                            .numbers = op.products},
                           run_.stream());
}

} // namespace troupe
