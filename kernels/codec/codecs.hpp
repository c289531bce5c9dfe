// The codecs, for make_codec and tests; what each does to numbers stands beside its operations (kernels/ops).
#pragma once

#include "kernels/codec/codec.hpp"
#include "kernels/ops/codecs.hpp"

namespace troupe {

// Numbers with a norm of their own, where an app file names no other.
constexpr std::size_t norm_share = 512;

// ---- unbiased, or made so by error feedback --------------------------------------------------------------------------

codec_ptr make_half_codec(half_format format);
codec_ptr make_quantized_codec(std::string_view name, const quantizer& settings);
codec_ptr make_sign_codec();
codec_ptr make_top_codec(float ratio, sparse_values values = {});
codec_ptr make_threshold_codec(float threshold);

// For sums of what make_threshold_codec sends. Each number is rounded to a multiple of the threshold, and of a multiple k
// there are |k| words of that codec: first all numbers that are not 0, ascending, then those of which something is left, and
// so on. Where that would be as long, float32 numbers as they are. Computes in host memory.
codec_ptr make_threshold_sums_codec(float threshold);

// Error feedback around a codec that keeps nothing itself. State: e.
codec_ptr with_error_feedback(codec_ptr inner);

// How many of `elements` a share is: the least whole number that is not below elements * ratio, where the ratio is the
// shortest decimal that is this float32, as it stands in an app file.
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
// Where the numbers that are sent are rounded, what is lost stays: v' - D(q), in place of the 0.
//
// Which are the largest is estimated by a sample: at most the share is sent, and the first of those above the threshold. A
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
// iteration from the last Q: P = the rows of Q A', made orthonormal. What is no matrix, or not smaller so, is sent as it is.
// Payload: float32, P and then Q. State: e, Q, and the Q that it began with, of which a trace stays: else a gradient of
// zeros would end it. Vogels, Karimireddy and Jaggi 2019.
codec_ptr make_low_rank_codec(std::uint32_t rank);

} // namespace troupe
