#include "kernels/cuda/convolution.hpp"
#include "kernels/cuda/cuda_operations.hpp"

namespace troupe {

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> cuda_operations::start(const conv2d_forward& op) {
    return cuda::convolve(op, run_);
}

result<void> cuda_operations::start(const conv2d_backward& op) {
    return cuda::convolve_back(op, run_);
}

} // namespace troupe
