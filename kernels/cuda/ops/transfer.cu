#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/status.hpp"

namespace troupe {

result<void> cuda_operations::start(const transfer& op) {
    run_.hold(op.input);
    run_.hold(op.output);
    return cuda::checked(cudaMemcpyAsync(op.output.mutable_data(), op.input.data(),
                                         op.input.bytes(), cudaMemcpyDefault, run_.stream()),
                         {&op.input});
}

} // namespace troupe
