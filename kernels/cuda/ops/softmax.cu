#include <cfloat>

#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/rows.hpp"

namespace troupe {

namespace {

// ---- kernels ----------------------------------------------------------------------------------------------------------

// Reads a row twice: for its largest element with the sum of powers beside it, then to write. output may be input.
template <class Threads>
__global__ void softmax_kernel(const float* input, float* output, std::size_t rows,
                               std::size_t columns) {
    for (std::size_t row = Threads::first_row(); row < rows; row += Threads::row_step()) {
        const float* const x = input + row * columns;
        float* const y = output + row * columns;
        float largest = -FLT_MAX, sum = 0; // not -infinity, which may be an element
        for (std::size_t c = Threads::index(); c < columns; c += Threads::count()) {
            const float next = cuda::larger{}(x[c], largest);
            if (next != largest)
                sum *= expf(largest - next);
            sum += expf(x[c] - next);
            largest = next;
        }
        const float shift = Threads::together(largest, -FLT_MAX, cuda::larger{});
        const float share = 1 / Threads::together(sum * expf(largest - shift));
        for (std::size_t c = Threads::index(); c < columns; c += Threads::count())
            y[c] = expf(x[c] - shift) * share;
    }
}

// input_gradient may be output_gradient.
template <class Threads>
__global__ void softmax_back_kernel(const float* output, const float* output_gradient,
                                    float* input_gradient, std::size_t rows, std::size_t columns) {
    for (std::size_t row = Threads::first_row(); row < rows; row += Threads::row_step()) {
        const float* const y = output + row * columns;
        const float* const dy = output_gradient + row * columns;
        float* const dx = input_gradient + row * columns;
        float sum = 0;
        for (std::size_t c = Threads::index(); c < columns; c += Threads::count())
            sum += y[c] * dy[c];
        const float mean = Threads::together(sum);
        for (std::size_t c = Threads::index(); c < columns; c += Threads::count())
            dx[c] = y[c] * (dy[c] - mean);
    }
}

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> cuda_operations::start(const softmax_forward& op) {
    const std::size_t columns = op.input.shape()[op.input.shape().rank() - 1];
    const std::size_t rows = op.input.elements() / columns;
    return cuda::checked(
        cuda::launch_rows(run_.stream(), rows, columns, softmax_kernel<cuda::warp_of_row>,
                          softmax_kernel<cuda::block_of_row>, cuda::floats(op.input),
                          cuda::floats(op.output), rows, columns),
        {&op.input});
}

result<void> cuda_operations::start(const softmax_backward& op) {
    const std::size_t columns = op.output.shape()[op.output.shape().rank() - 1];
    const std::size_t rows = op.output.elements() / columns;
    return cuda::checked(
        cuda::launch_rows(run_.stream(), rows, columns, softmax_back_kernel<cuda::warp_of_row>,
                          softmax_back_kernel<cuda::block_of_row>, cuda::floats(op.output),
                          cuda::floats(op.output_gradient), cuda::floats(op.input_gradient), rows,
                          columns),
        {&op.output});
}

} // namespace troupe
