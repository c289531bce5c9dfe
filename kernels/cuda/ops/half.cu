#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/f16.hpp"
#include "kernels/cuda/payloads.hpp"

namespace troupe {

namespace {

// ---- helpers ----------------------------------------------------------------------------------------------------------

constexpr std::uint32_t infinity_bits = 0x7f800000, sign_bit = 0x80000000;

__device__ std::uint16_t bf16_of(float x) {
    const std::uint32_t bits = __float_as_uint(x);
    const bool is_nan = (bits & ~sign_bit) > infinity_bits;
    return static_cast<std::uint16_t>(is_nan ? bits >> 16 | 0x40
                                             : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

__device__ float from_bf16(std::uint16_t bits) {
    return __uint_as_float(std::uint32_t{bits} << 16);
}

// ---- kernels ----------------------------------------------------------------------------------------------------------

constexpr unsigned halves = 4; // of a thread

struct encode_pass {
    half_format format;
    const float* input;
    std::byte* payload;
    std::size_t count;

    __device__ void operator()(std::size_t group) const {
        const std::size_t first = halves * group, there = count - first;
        const auto x = cuda::load<halves>(input + first, there);
        std::uint64_t all = 0;
#pragma unroll
        for (unsigned k = 0; k < halves; ++k) {
            const std::uint16_t half =
                format == half_format::bf16 ? bf16_of(x.at[k]) : cuda::f16_bits(x.at[k]);
            all |= std::uint64_t{half} << 16 * k;
        }
        cuda::write_bytes(payload + 2 * first, there < halves ? 2 * there : 2 * halves, all);
    }
};

struct decode_pass {
    half_format format;
    const std::byte* payload;
    std::size_t count;
    cuda::decode_target target;

    __device__ void operator()(std::size_t group) const {
        const std::size_t first = halves * group, there = count - first;
        const std::uint64_t all =
            cuda::read_bytes(payload + 2 * first, there < halves ? 2 * there : 2 * halves);
        cuda::neighbours<halves> decoded;
#pragma unroll
        for (unsigned k = 0; k < halves; ++k) {
            const auto half = static_cast<std::uint16_t>(all >> 16 * k);
            decoded.at[k] = format == half_format::bf16 ? from_bf16(half) : cuda::from_f16(half);
        }
        target.put(first, there, decoded);
    }
};

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> cuda_operations::start(const encode_half& op) {
    const std::size_t count = op.input.elements();
    return cuda::checked(cuda::launch_elements(run_.stream(), (count + halves - 1) / halves,
                                               encode_pass{op.format, cuda::floats(op.input),
                                                           op.payload.mutable_data(), count}),
                         {&op.input});
}

result<void> cuda_operations::start(const decode_half& op) {
    const decode_operands& o = op.operands;
    const std::size_t count = o.output.elements();
    return cuda::checked(cuda::launch_elements(run_.stream(), (count + halves - 1) / halves,
                                               decode_pass{op.format, o.payload.data(), count,
                                                           cuda::decode_target{o}}),
                         {&o.output});
}

} // namespace troupe
