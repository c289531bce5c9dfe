#include <algorithm>

#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/elements.hpp"

namespace troupe {

namespace {

// ---- helpers ----------------------------------------------------------------------------------------------------------

// Blocks that fill a GPU several times over.
constexpr std::size_t blocks_wanted = 4096;
constexpr std::size_t grid_rows_max = 65535;

// ---- kernels ----------------------------------------------------------------------------------------------------------

// A thread keeps its element of the addend for all samples of its row of blocks.
__global__ void add_to_samples_kernel(const float* input, const float* addend, float* output,
                                      std::size_t samples, std::size_t size) {
    const std::size_t i = cuda::first_element();
    if (i >= size)
        return;
    const float added = addend[i];
#pragma unroll 4
    for (std::size_t s = blockIdx.y; s < samples; s += gridDim.y)
        output[s * size + i] = input[s * size + i] + added;
}

// In the order of the samples.
struct sample_sum {
    const float* input;
    float* sum;
    std::size_t samples, size;
    __device__ void operator()(std::size_t i) const {
        float all = 0;
#pragma unroll 8
        for (std::size_t s = 0; s < samples; ++s)
            all += input[s * size + i];
        sum[i] = all;
    }
};

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> cuda_operations::start(const add_to_samples& op) {
    const std::size_t samples = op.input.shape()[0], size = op.addend.elements();
    const std::size_t across = (size + cuda::block_threads - 1) / cuda::block_threads;
    const std::size_t down =
        std::min({samples, grid_rows_max, blocks_wanted / std::max<std::size_t>(1, across) + 1});
    const dim3 grid{static_cast<unsigned>(across), static_cast<unsigned>(down)};
    return cuda::checked(cuda::launch(run_.stream(), {grid}, add_to_samples_kernel,
                                      cuda::floats(op.input), cuda::floats(op.addend),
                                      cuda::floats(op.output), samples, size),
                         {&op.input, &op.addend});
}

result<void> cuda_operations::start(const sum_of_samples& op) {
    const std::size_t size = op.sum.elements();
    return cuda::checked(
        cuda::launch_elements(
            run_.stream(), size,
            sample_sum{cuda::floats(op.input), cuda::floats(op.sum), op.input.shape()[0], size}),
        {&op.input});
}

} // namespace troupe
