#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/row_reductions.hpp"

namespace troupe {

namespace {

// ---- kernels ----------------------------------------------------------------------------------------------------------

struct square {
    const float* input;
    __device__ double operator()(std::size_t, std::size_t i) const {
        const double x{input[i]};
        return x * x;
    }
};

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> cuda_operations::start(const sum_of_squares& op) {
    const auto sum = cuda::reduced(run_, op.input.elements(), 0.0, square{cuda::floats(op.input)},
                                   cuda::plus{}, {&op.input});
    if (!sum)
        return sum.failure();
    op.sum = *sum;
    return {};
}

} // namespace troupe
