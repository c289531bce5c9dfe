#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/rows.hpp"

namespace troupe {

namespace {

// ---- kernels ----------------------------------------------------------------------------------------------------------

__global__ void sequence_lengths_kernel(const std::int32_t* tokens, std::int32_t padding,
                                        std::size_t samples, std::size_t positions,
                                        std::int32_t* lengths) {
    using threads = cuda::warp_of_row;
    for (std::size_t s = threads::first_row(); s < samples; s += threads::row_step()) {
        std::int32_t length = 1;
        for (std::size_t p = threads::index(); p < positions; p += threads::count())
            if (tokens[s * positions + p] != padding)
                length = static_cast<std::int32_t>(p + 1);
        length = threads::together(length, 1, cuda::larger{});
        if (threads::index() == 0)
            lengths[s] = length;
    }
}

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> cuda_operations::start(const sequence_lengths& op) {
    const std::size_t samples = op.tokens.shape()[0];
    return cuda::checked(cuda::launch(run_.stream(),
                                      {cuda::blocks_for(samples, cuda::warps_of_block)},
                                      sequence_lengths_kernel, cuda::integers(op.tokens),
                                      op.padding, samples, op.tokens.shape()[1],
                                      reinterpret_cast<std::int32_t*>(op.lengths.mutable_data())),
                         {&op.tokens});
}

} // namespace troupe
