#include "kernels/cuda/half_numbers.hpp"

#include "kernels/cuda/bf16.hpp"
#include "kernels/cuda/elements.hpp"

namespace troupe::cuda {

namespace {

__device__ void give(float x, std::uint16_t& to) {
    to = bf16_bits(x);
}
__device__ void give(float x, float& to) {
    to = rounded_to_bf16(x);
}

template <class Number>
struct rounding {
    const float* from;
    Number* to;
    __device__ void operator()(std::size_t i) const { give(from[i], to[i]); }
};

} // namespace

cudaError_t round_to_bf16(const float* from, std::uint16_t* to, std::size_t count,
                          cudaStream_t stream) {
    return launch_elements(stream, count, rounding<std::uint16_t>{from, to});
}

cudaError_t round_to_bf16(const float* from, float* to, std::size_t count, cudaStream_t stream) {
    return launch_elements(stream, count, rounding<float>{from, to});
}

} // namespace troupe::cuda
