// The form of the numbers in a sparse payload (ops/sparse.hpp), which follow their indices of 4 bytes each, ascending:
//
//   f32   4 bytes each
//   f16   half precision (encode_half), infinite beyond 65504: 2 bytes each
//   int8  the nearest of 255 steps up to the largest of 512 consecutive numbers (quantizer): 1 byte each, with the
//         largest of every 512 before all
//   int4  likewise the nearest of 15, -7 .. 7 sevenths: two in a byte
//
// There are no random numbers. Decoded numbers are encoded to the same bytes again. A sender that rounds numbers a keeps the
// errors e' = a - D(q), and adds them to the numbers that it sends the next time.
//
// A value. The device's operations do the work, on whichever device.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "kernels/device/device.hpp"
#include "schemas/topology.capnp.h"

namespace troupe {

class sparse_values {
  public:
    sparse_values() noexcept = default; // f32
    sparse_values(proto::SparseValues form) noexcept : form_{form} {}

    std::string_view name() const noexcept; // its key in an app file
    bool are_exact() const noexcept { return form_ == proto::SparseValues::F32; }
    // Bytes of so many numbers without their indices, and with them.
    std::uint64_t bytes(std::uint64_t count) const noexcept;
    std::uint64_t payload_bytes(std::uint64_t count) const noexcept {
        return 4 * count + bytes(count);
    }
    double bytes_each() const noexcept; // mean of many numbers, without their indices
    // The number of numbers in a payload of so many bytes; nullopt if no payload has so many bytes.
    std::optional<std::uint64_t> count_in(std::uint64_t payload_bytes) const noexcept;

    // Converts a payload of float32 numbers, which begins its buffer, to this form; and back. errc::exhausted;
    // errc::protocol for numbers from the network, whose payload size count_in() has accepted.
    result<tensor> rounded(compute_context& context, const tensor& payload) const;
    result<tensor> widened(compute_context& context, const tensor& payload) const;

    // Converts a row of float32 numbers without indices, where the form is not exact, to bytes(count) bytes; and back.
    result<void> encode(compute_context& context, const tensor& numbers, tensor& bytes) const;
    result<void> decode(compute_context& context, const tensor& bytes, tensor& numbers) const;

  private:
    proto::SparseValues form_ = proto::SparseValues::F32;
};

// True if this build knows the form; the network may bring another.
bool is_known(proto::SparseValues form) noexcept;

} // namespace troupe
