// Numbers in fewer bits, and back: rounded, quantized by lot or to the nearest, signs. Those that send few of the numbers:
// ops/sparse.hpp.
//
// A payload is a row of bytes; numbers in it are little-endian and at any address. It comes from the network: whatever is in
// it, a decoder stays within its operands, and returns errc::protocol for what no encoder makes.
//
// A decoder computes output = addend + factor * D(payload), or factor * D(payload) where there is no addend, element by
// element in float32. Output may be the addend. After an error it is unspecified.
#pragma once

#include <cstdint>

#include "kernels/tensor/tensor.hpp"

namespace troupe {

struct decode_operands {
    const tensor& payload;
    float factor;
    const tensor* addend; // like output; null: zeros
    tensor& output;
};

// ---- rounded --------------------------------------------------------------------------------------------------------

enum class half_format : std::uint8_t { bf16, f16 };

// To the nearest, of two as near the even one; beyond the largest of f16 to infinity; NaN stays NaN. 2 bytes for each.
struct encode_half {
    half_format format;
    const tensor& input;
    tensor& payload;

    result<void> check() const;
};
struct decode_half {
    half_format format;
    decode_operands operands;

    result<void> check() const;
};

// ---- quantized ------------------------------------------------------------------------------------------------------

enum class bucket_norm : std::uint8_t { largest, euclidean };

// Each bucket of neighbouring elements is told by its norm N, float32, and each element x by a level l of 0..levels and its
// sign: D = +-l * (N / levels), which is x on average.
//
// clip, with the largest alone: elements are cut at so many standard deviations of the whole tensor first; 0: never. A norm
// below 2^-100 counts as 0; where one is above 2^100 or no number, N is NaN and all l are 0.
//
// In float32: y = |x| * (levels / N), l = the whole part of y + u, at most levels; u is the upper 24 bits of a random word,
// times 2^-24. The word: number e % 4 of Philox 4x32-10 (schemas/base/philox.hpp), where e is the element's place in its
// bucket, with the key's stream as key and e / 4, the bucket's number and the key's step, lower half first, as counter.
//
// nearest, with the largest alone and no clip: u is 1/2, and N is levels * (largest / levels) in float32, which is what the
// largest becomes: of what is decoded the payload is the same again.
//
// Payload: N of each bucket, then bucket by bucket the codes, levels + l or levels - l, each of bits() bits, the first in
// the lowest; a bucket's end is filled up to a whole byte.
struct quantizer {
    std::uint32_t levels = 127; // 1 .. 127
    std::size_t bucket = 0;     // elements; 0: all are one
    bucket_norm norm = bucket_norm::largest;
    float clip = 0;
    bool nearest = false; // else by lot

    std::size_t bits() const noexcept; // the fewest that tell 2 levels + 1 codes apart
    std::size_t buckets(std::size_t elements) const noexcept;
    std::size_t bucket_size(std::size_t elements) const noexcept; // but perhaps of the last
    std::size_t payload_bytes(std::size_t elements) const noexcept;
};

// Which random words.
struct quantize_key {
    std::uint64_t stream = 0; // another one for every tensor of every replica
    std::uint64_t step = 0;
};

struct quantize {
    quantizer settings;
    quantize_key key;
    const tensor& input;
    tensor& payload;

    result<void> check() const;
};
struct dequantize {
    quantizer settings;
    decode_operands operands;

    result<void> check() const;
};

// ---- signs ----------------------------------------------------------------------------------------------------------

// Each row (along the first axis: what leads into one unit; a vector is one row) is told by the mean of its elements that
// are at least 0 and that of the others, float32, 0 where there are none; and each element by a bit, 1 for at least 0.
//
// Payload: row by row the two means and the bits, the first in the lowest; a row's end is filled up to a byte with zeros.
// Source: 1-bit stochastic gradient descent, Seide, Fu, Droppo, Li and Yu 2014; its columns are these rows.
struct encode_signs {
    const tensor& input;
    tensor& payload;

    result<void> check() const;
};
struct decode_signs {
    decode_operands operands;

    result<void> check() const;
};

std::size_t sign_rows(const tensor_shape& shape) noexcept;
std::size_t sign_payload_bytes(const tensor_shape& shape) noexcept;

} // namespace troupe
