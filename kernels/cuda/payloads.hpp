// Parts that encoders and decoders share: numbers at any address of a payload, and what is done with what was decoded.
#pragma once

#include <cstddef>
#include <cstring>

#include "kernels/cuda/map.hpp"
#include "kernels/cuda/rounded.hpp"
#include "kernels/ops/codecs.hpp"

namespace troupe::cuda {

// In one access where the address allows it.
template <class T>
__device__ T read_at(const std::byte* from) {
    if (reinterpret_cast<std::uintptr_t>(from) % sizeof(T) == 0)
        return *reinterpret_cast<const T*>(from);
    T value;
    memcpy(&value, from, sizeof value);
    return value;
}

template <class T>
__device__ void write_at(std::byte* to, T value) {
    if (reinterpret_cast<std::uintptr_t>(to) % sizeof(T) == 0)
        *reinterpret_cast<T*>(to) = value;
    else
        memcpy(to, &value, sizeof value);
}

// The lowest `count` bytes of a number, 1 to 8.
__device__ inline std::uint64_t read_bytes(const std::byte* from, unsigned count) {
    switch (count) {
    case 8:
        return read_at<std::uint64_t>(from);
    case 4:
        return read_at<std::uint32_t>(from);
    case 2:
        return read_at<std::uint16_t>(from);
    }
    std::uint64_t bits = 0;
    for (unsigned b = 0; b < count; ++b)
        bits |= std::uint64_t{read_at<std::uint8_t>(from + b)} << 8 * b;
    return bits;
}

__device__ inline void write_bytes(std::byte* to, unsigned count, std::uint64_t bits) {
    switch (count) {
    case 8:
        return write_at(to, bits);
    case 4:
        return write_at(to, static_cast<std::uint32_t>(bits));
    case 2:
        return write_at(to, static_cast<std::uint16_t>(bits));
    }
    for (unsigned b = 0; b < count; ++b)
        write_at(to + b, static_cast<std::uint8_t>(bits >> 8 * b));
}

// decode_operands, for kernels.
struct decode_target {
    float factor;
    const float* addend; // or null
    float* output;

    explicit decode_target(const decode_operands& o)
        : factor{o.factor}, addend{floats(o.addend)}, output{floats(o.output)} {}

    // Takes the elements from `first` on, of which so many are there.
    template <unsigned N>
    __device__ void put(std::size_t first, std::size_t there, neighbours<N> decoded) const {
#pragma unroll
        for (unsigned k = 0; k < N; ++k)
            decoded.at[k] = __fmul_rn(factor, decoded.at[k]);
        if (addend != nullptr) {
            const auto added = load<N>(addend + first, there);
#pragma unroll
            for (unsigned k = 0; k < N; ++k)
                decoded.at[k] = __fadd_rn(added.at[k], decoded.at[k]);
        }
        store(output + first, there, decoded);
    }
};

} // namespace troupe::cuda
