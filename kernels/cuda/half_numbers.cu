#include "kernels/cuda/half_numbers.hpp"

#include "kernels/cuda/elements.hpp"

namespace troupe::cuda {

namespace {

// To nearest, ties to even; denormal numbers to 0; NaN stays NaN.
__device__ std::uint16_t bf16_bits(float x) {
    const std::uint32_t bits = __float_as_uint(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
    if ((bits & 0x7f800000u) == 0)
        return static_cast<std::uint16_t>(bits >> 31 << 15);
    return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

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
