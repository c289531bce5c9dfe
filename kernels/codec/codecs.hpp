// The codecs, for make_codec and tests; kernels/ops describes their operations on numbers.
#pragma once

#include "kernels/codec/codec.hpp"
#include "kernels/ops/codecs.hpp"

namespace troupe {

// Consecutive numbers that share a norm, where an app file does not set it.
constexpr std::size_t norm_share = 512;

// ---- unbiased, or made so by error feedback --------------------------------------------------------------------------

codec_ptr make_half_codec(half_format format);
codec_ptr make_quantized_codec(std::string_view name, const quantizer& settings);
codec_ptr make_sign_codec();
codec_ptr make_top_codec(float ratio, sparse_values values = {});
codec_ptr make_threshold_codec(float threshold);

// For sums of gradients decoded by make_threshold_codec. Each number is rounded to a multiple k of the threshold, and takes
// |k| words of that codec, in layers: first all numbers that are not 0, in ascending order of indices, then those with a
// remainder, and so on. Where that would be as long as float32 numbers, the payload is these. Computes in host memory.
codec_ptr make_threshold_sums_codec(float threshold);

// Error feedback around a codec without state. State: e.
codec_ptr with_error_feedback(codec_ptr inner);

// The number of elements in a share: the least whole number that is not below elements * ratio, where the ratio is the
// shortest decimal that is this float32, as written in an app file.
std::size_t elements_of_share(std::size_t elements, float ratio);

// ---- deep gradient compression --------------------------------------------------------------------------------------

struct deep_gradient_settings {
    float ratio = 0.001f;
    float momentum = 0.9f;
    bool masking = true;
    float clip_norm = 0; // 0: none
    std::uint32_t warmup_epochs = 0;
    sparse_values values = {};

    // ratio^((epoch + 1) / (warmup_epochs + 1)) in the warm-up.
    float ratio_at(std::uint32_t epoch) const;
};

// u' = momentum * u + g; v' = v + u'; the largest of v' are sent and become 0 there, with masking in u' too. State: u, v.
// Where the numbers that are sent are rounded, the error stays: v' - D(q), in place of the 0.
//
// The threshold of the largest is estimated from a sample: at most the share is sent, the first ones above the threshold. A
// vector (a bias) is sent whole with ordinary momentum, u'. State: u. Lin, Han, Mao, Wang and Dally 2018; the sampling is
// that of the authors' code.
codec_ptr make_deep_gradient_codec(const deep_gradient_settings& settings);

// The sample of a tensor: every stride-th element, of which the threshold is the top-th largest.
struct threshold_sample {
    std::size_t stride = 1;
    std::size_t count = 0;
    std::size_t top = 0;

    static threshold_sample of(std::size_t elements, float ratio);
};

// ---- low rank -------------------------------------------------------------------------------------------------------

// A matrix (first axis by all others) as P' Q with P of rank rows that are orthonormal and Q = P A. One step of subspace
// iteration from the last Q: P = the rows of Q A', made orthonormal. A tensor that is no matrix, or whose factors are not
// smaller, is not compressed. Payload: float32, P and then Q. State: e, Q, and the first Q, of which a trace is added to
// each Q: else a gradient of zeros would make all further ones zero. Vogels, Karimireddy and Jaggi 2019.
codec_ptr make_low_rank_codec(std::uint32_t rank);

} // namespace troupe
