// Every codec with some settings, and gradients for it.
#pragma once

#include <string>
#include <vector>

#include "kernels/codec/codecs.hpp"
#include "tests/unit/kernels/backends.hpp"
#include "tests/unit/kernels/models.hpp"

namespace troupe::test {

inline std::vector<codec_ptr> unbiased_codecs() {
    return {make_quantized_codec("int8", {.levels = 127, .bucket = 512}),
            make_quantized_codec("tern_grad", {.levels = 1}),
            make_quantized_codec("qsgd",
                                 {.levels = 15, .bucket = 512, .norm = bucket_norm::euclidean})};
}

// Those that keep what is lost, and have nothing of their own to do with the gradient.
inline std::vector<codec_ptr> feedback_codecs() {
    return {with_error_feedback(make_half_codec(half_format::bf16)),
            with_error_feedback(make_half_codec(half_format::f16)),
            with_error_feedback(make_sign_codec()),
            with_error_feedback(make_threshold_codec(0.7f)),
            with_error_feedback(make_threshold_sums_codec(0.7f)),
            with_error_feedback(make_threshold_sums_codec(0.01f)), // as they are
            with_error_feedback(make_top_codec(0.01f)),
            with_error_feedback(make_top_codec(1)),
            with_error_feedback(make_top_codec(0.1f, proto::SparseValues::F16)),
            with_error_feedback(make_top_codec(0.1f, proto::SparseValues::INT8)),
            with_error_feedback(make_top_codec(0.1f, proto::SparseValues::INT4)),
            make_deep_gradient_codec({.ratio = 0.01f, .momentum = 0}),
            make_deep_gradient_codec({.ratio = 0.3f, .momentum = 0}),
            make_deep_gradient_codec(
                {.ratio = 0.3f, .momentum = 0, .values = proto::SparseValues::F16}),
            make_deep_gradient_codec(
                {.ratio = 0.3f, .momentum = 0, .values = proto::SparseValues::INT8}),
            make_deep_gradient_codec(
                {.ratio = 0.3f, .momentum = 0, .values = proto::SparseValues::INT4}),
            make_low_rank_codec(2)};
}

inline std::vector<codec_ptr> all_codecs() {
    auto all = unbiased_codecs();
    for (const codec_ptr& how : feedback_codecs())
        all.push_back(how);
    all.push_back(make_deep_gradient_codec({.ratio = 0.01f, .warmup_epochs = 4}));
    return all;
}

inline const std::vector<tensor_shape>& gradient_shapes() {
    static const std::vector<tensor_shape> shapes{{10}, {10, 33}, {8, 3, 3, 3}, {64, 200}};
    return shapes;
}

inline std::vector<tensor> random_gradients(memory_pool& pool, std::uint64_t seed) {
    std::vector<tensor> gradients;
    for (const tensor_shape& shape : gradient_shapes())
        gradients.push_back(random_tensor(pool, shape, seed * 16 + gradients.size()));
    return gradients;
}

inline std::vector<double> values_of(const tensor& t) {
    return {t.values<float>().begin(), t.values<float>().end()};
}

} // namespace troupe::test
