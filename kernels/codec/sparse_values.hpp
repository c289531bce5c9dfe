// How the numbers of a sparse payload (ops/sparse.hpp) are written beside their places, which take 4 bytes each, ascending:
//
//   f32   as they are: 4 bytes each
//   f16   half precision (encode_half), beyond 65504 infinite: 2 bytes each
//   int8  one of 255 steps up to the largest of 512 that follow one another, the nearest (quantizer): 1 byte each, and the
//         512's largest before all
//   int4  likewise one of 15, -7 .. 7 sevenths: two in a byte
//
// No lot is drawn. What is decoded is encoded to the same bytes again. Whoever rounds keeps what is lost: of a the numbers
// D(q) are sent, and e' = a - D(q) is added to what is sent the next time.
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
    // Of so many numbers without their places, and with them.
    std::uint64_t bytes(std::uint64_t count) const noexcept;
    std::uint64_t payload_bytes(std::uint64_t count) const noexcept {
        return 4 * count + bytes(count);
    }
    double bytes_each() const noexcept; // of many, without their places
    // How many numbers a payload of so many bytes has; nothing where none has so many.
    std::optional<std::uint64_t> count_in(std::uint64_t payload_bytes) const noexcept;

    // A payload of float32 numbers, at the beginning of its buffer, in this form; and back. errc::exhausted; of what comes
    // from the network, whose size count_in() takes, errc::protocol.
    result<tensor> rounded(compute_context& context, const tensor& payload) const;
    result<tensor> widened(compute_context& context, const tensor& payload) const;

    // A row of float32 numbers without places, where they are not exact: as bytes(count) bytes, and back.
    result<void> encode(compute_context& context, const tensor& numbers, tensor& bytes) const;
    result<void> decode(compute_context& context, const tensor& bytes, tensor& numbers) const;

  private:
    proto::SparseValues form_ = proto::SparseValues::F32;
};

// Whether this build does: what comes from the network may be another.
bool is_known(proto::SparseValues form) noexcept;

} // namespace troupe
