#include "kernels/codec/codec.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/codec/codecs.hpp"
#include "kernels/codec/payloads.hpp"
#include "kernels/optim/clip.hpp"

namespace troupe {

codec_ptr make_codec(proto::GradientCodec::Reader c) {
    switch (c.which()) {
    case proto::GradientCodec::NONE:
    case proto::GradientCodec::SUFFICIENT_FACTORS:
        break;
    case proto::GradientCodec::BF16:
        return with_error_feedback(make_half_codec(half_format::bf16));
    case proto::GradientCodec::F16:
        return with_error_feedback(make_half_codec(half_format::f16));
    case proto::GradientCodec::INT8:
        return make_quantized_codec("int8", {.levels = 127, .bucket = norm_share});
    case proto::GradientCodec::ONE_BIT:
        return with_error_feedback(make_sign_codec());
    case proto::GradientCodec::THRESHOLD:
        return with_error_feedback(make_threshold_codec(c.getThreshold().getThreshold()));
    case proto::GradientCodec::TOP_K:
        if (!is_known(c.getTopK().getValues()))
            break;
        return with_error_feedback(make_top_codec(c.getTopK().getRatio(), c.getTopK().getValues()));
    case proto::GradientCodec::DEEP_GRADIENT: {
        const auto deep = c.getDeepGradient();
        if (!is_known(deep.getValues()))
            break;
        return make_deep_gradient_codec({.ratio = deep.getRatio(),
                                         .momentum = deep.getMomentum(),
                                         .masking = deep.getMasking(),
                                         .clip_norm = deep.getClipNorm(),
                                         .warmup_epochs = deep.getWarmupEpochs(),
                                         .values = deep.getValues()});
    }
    case proto::GradientCodec::TERN_GRAD:
        return make_quantized_codec("tern_grad", {.levels = 1, .clip = c.getTernGrad().getClip()});
    case proto::GradientCodec::QSGD:
        return make_quantized_codec("qsgd", {.levels = c.getQsgd().getLevels(),
                                             .bucket = c.getQsgd().getBucket(),
                                             .norm = bucket_norm::euclidean});
    case proto::GradientCodec::POWER_SGD:
        return make_low_rank_codec(c.getPowerSgd().getRank());
    }
    return nullptr;
}

result<tensor> decoded(compute_context& context, const payload_form& how, const tensor_shape& shape,
                       const tensor& payload) {
    if (auto fits = how.check(shape, payload); !fits)
        return fits.failure();
    auto gradient = tensor::allocate(context.memory, data_type::float32, shape);
    if (!gradient)
        return gradient;
    const auto done = how.decode(context, payload, 1, nullptr, *gradient);
    return done ? std::move(gradient) : result<tensor>{done.failure()};
}

result<float> gradient_encoder::scale_of(compute_context& context,
                                         std::span<const tensor> gradients) const {
    const auto bound = options_.how->clip_norm();
    if (!bound)
        return 1.f;
    const auto squares = squares_of(context, gradients);
    if (!squares)
        return squares.failure();
    const double limit = double{*bound} / std::sqrt(static_cast<double>(options_.replicas));
    const double norm = std::sqrt(add_squares(0, *squares));
    return norm > limit ? static_cast<float>(limit / norm) : 1.f;
}

result<void> gradient_encoder::make_state(compute_context& context) {
    encode_place at{.seed = options_.seed, .replica = options_.replica};
    std::vector<std::vector<tensor>> first;
    for (const tensor_shape& shape : options_.shapes) {
        auto state = options_.how->first_state(context.host_memory(), shape, at);
        if (!state)
            return state.failure();
        if (auto in = copy_to_device(context, *state); !in)
            return in;
        first.push_back(std::move(*state));
        ++at.tensor;
    }
    state_ = std::move(first);
    return {};
}

result<std::vector<tensor>> gradient_encoder::encode(compute_context& context, std::size_t first,
                                                     std::span<const tensor> gradients,
                                                     std::uint32_t epoch) {
    const std::size_t end = encoded_from_ > 0 ? encoded_from_ : options_.shapes.size();
    TROUPE_CHECK(first + gradients.size() == end && (first == 0 || !needs_all()),
                 "gradients come from the last to the first, or all at once");
    TROUPE_CHECK(std::ranges::equal(gradients,
                                    std::span{options_.shapes}.subspan(first, gradients.size()), {},
                                    &tensor::shape),
                 "gradients have the shapes of their weights");
    if (state_.empty())
        if (auto made = make_state(context); !made)
            return made.failure();
    const auto scale = scale_of(context, gradients);
    if (!scale)
        return scale.failure();
    encode_place at{.seed = options_.seed,
                    .replica = options_.replica,
                    .step = step_,
                    .epoch = epoch,
                    .scale = *scale};
    std::vector<tensor> payloads;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        at.tensor = static_cast<std::uint32_t>(first + i);
        auto payload = options_.how->encode(context, gradients[i], state_[at.tensor], at);
        if (!payload)
            return payload.failure();
        payloads.push_back(std::move(*payload));
    }
    encoded_from_ = first;
    step_ += first == 0;
    return payloads;
}

} // namespace troupe
