#include "kernels/cuda/half_numbers.hpp"

#include "kernels/cuda/bf16.hpp"
#include "kernels/cuda/elements.hpp"

namespace troupe::cuda {

namespace {

struct rounding {
    const float* from;
    std::uint16_t* to;
    __device__ void operator()(std::size_t i) const { to[i] = bf16_bits(from[i]); }
};

} // namespace

cudaError_t round_to_bf16(const float* from, std::uint16_t* to, std::size_t count,
                          cudaStream_t stream) {
    return launch_elements(stream, count, rounding{from, to});
}

} // namespace troupe::cuda
