#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/elements.hpp"

namespace troupe {

namespace {

cuda::matrix in_memory(const matrix_operand& m) {
    return {cuda::floats(m.values), m.values.shape()[1], m.transposed};
}

} // namespace

// The addend lies in the output before the product is added to it.
result<void> cuda_operations::start(const matrix_multiply& op) {
    float* const output = cuda::floats(op.output);
    const std::size_t inner = op.left.columns();
    if (op.output.elements() == 0)
        return {};
    if (op.addend != nullptr && cuda::floats(*op.addend) != output) {
        if (auto copied =
                cuda::checked(cudaMemcpyAsync(output, op.addend->data(), op.output.bytes(),
                                              cudaMemcpyDefault, run_.stream()),
                              {&op.output});
            !copied)
            return copied;
    }
    if (inner == 0)
        return op.addend != nullptr
                   ? result<void>{}
                   : cuda::checked(cudaMemsetAsync(output, 0, op.output.bytes(), run_.stream()),
                                   {&op.output});
    return run_.multiply()({.m = op.left.rows(),
                            .n = op.right.columns(),
                            .k = inner,
                            .a = in_memory(op.left),
                            .b = in_memory(op.right),
                            .factor = op.factor,
                            .beta = op.addend != nullptr ? 1.f : 0.f,
                            .c = output,
                            .c_stride = op.right.columns()},
                           run_.stream());
}

} // namespace troupe
