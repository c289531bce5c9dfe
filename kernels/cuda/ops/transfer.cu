#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/status.hpp"

namespace troupe {

result<void> cuda_operations::start(const transfer& op) {
    for (const tensor* t : {&op.input, static_cast<const tensor*>(&op.output)})
        if (t->is_host())
            run_.hold(*t);
    return cuda::checked(cudaMemcpyAsync(op.output.mutable_data(), op.input.data(),
                                         op.input.bytes(), cudaMemcpyDefault, run_.stream()),
                         {&op.input});
}

} // namespace troupe
