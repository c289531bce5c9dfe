// Gradients of which only the largest numbers are sent. What ops/codecs.hpp says of payloads and decoders holds here.
//
// Magnitudes are compared as float32; that of NaN is above all others.
//
// Sparse payload: of each element that is sent its index, 4 bytes, in ascending order; then in the same order their float32
// values. Tensors have fewer than 2^32 elements, for the sign payload fewer than 2^31.
#pragma once

#include "kernels/ops/codecs.hpp"

namespace troupe {

inline constexpr std::size_t sparse_element_bytes = 8;
inline constexpr std::size_t threshold_element_bytes = 4;

// magnitude = the rank-th largest, counted from 1, of |input[first]|, |input[first + stride]|, ...
struct nth_magnitude {
    const tensor& input;
    std::size_t first;
    std::size_t stride; // at least 1
    std::size_t rank;
    float& magnitude;

    result<void> check() const;
    std::size_t samples() const noexcept;
};

// count = how many elements have at least this magnitude.
struct count_at_least {
    const tensor& input;
    float magnitude;
    std::size_t& count;

    result<void> check() const;
};

// The elements of the largest magnitudes, as many as the payload takes; of equal ones those with the lowest indices.
struct encode_top {
    const tensor& input;
    tensor& payload;

    result<void> check() const;
};

// The first elements of at least this magnitude, as many as the payload takes. errc::usage if there are fewer.
struct encode_at_least {
    const tensor& input;
    float magnitude;
    tensor& payload;

    result<void> check() const;
};

// D is 0 where nothing was sent.
struct decode_sparse {
    decode_operands operands;

    result<void> check() const;
};

// output = 0 at the indices of a sparse payload, and stays elsewhere.
struct clear_at {
    const tensor& payload;
    tensor& output;

    result<void> check() const;
};

// All elements of a magnitude above the threshold, of which the payload must take as many as there are, else errc::usage.
// D is +-threshold. Payload: 4 bytes for each, its index and in the highest bit whether it is negative. Strom 2015.
struct encode_threshold {
    float threshold; // above 0
    const tensor& input;
    tensor& payload;

    result<void> check() const;
};
struct decode_threshold {
    float threshold;
    decode_operands operands;

    result<void> check() const;
};

// The argument of count_at_least that counts what is above a threshold.
float just_above(float threshold) noexcept;

// velocity' = momentum * velocity + scale * gradient; sum' = sum + velocity'. New tensors may be the old ones.
// Source: deep gradient compression, Lin, Han, Mao, Wang and Dally 2018.
struct momentum_correction {
    float momentum;
    float scale;
    const tensor& gradient;
    const tensor& velocity;
    const tensor& sum;
    tensor& new_velocity;
    tensor& new_sum;

    result<void> check() const;
};

} // namespace troupe
