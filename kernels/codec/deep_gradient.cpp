#include <algorithm>
#include <cmath>

#include "kernels/codec/codecs.hpp"
#include "kernels/codec/payloads.hpp"
#include "schemas/base/philox.hpp"

namespace troupe {

namespace {

constexpr float sample_share = 0.01f;
constexpr int adaptations_max = 10;
// Bounds on the count found, as ratios to the wanted one; too_few is also the factor that lowers a threshold.
constexpr double too_many = 1.3, too_few = 0.8;

// The threshold found for the largest numbers: their least magnitude, and their count.
struct found_threshold {
    float magnitude = 0;
    std::size_t count = 0;
    bool is_exact = false; // too many are above it: the largest of these must be found exactly
};

result<found_threshold> find_threshold(compute_context& context, const tensor& v, float ratio,
                                       const encode_place& at) {
    const std::size_t wanted = elements_of_share(v.elements(), ratio);
    if (wanted == v.elements())
        return found_threshold{.magnitude = 0, .count = wanted};
    const auto sample = threshold_sample::of(v.elements(), ratio);
    const auto word = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const philox_words random =
        philox({{at.tensor, at.replica, word(at.step), word(at.step >> 32)}},
               {{word(at.seed), word(at.seed >> 32)}});
    const std::size_t first = random.word[0] % sample.stride;
    found_threshold found;
    if (auto done =
            context.ops.run(nth_magnitude{v, first, sample.stride, sample.top, found.magnitude});
        !done)
        return done.failure();
    const auto enough = static_cast<std::size_t>(std::ceil(too_few * static_cast<double>(wanted)));
    const auto most = static_cast<std::size_t>(too_many * static_cast<double>(wanted));
    for (int adaptation = 0;; ++adaptation) {
        if (auto done = context.ops.run(count_at_least{v, found.magnitude, found.count}); !done)
            return done.failure();
        if (sample.count == v.elements() || adaptation == adaptations_max || found.count >= enough)
            break;
        found.magnitude *= static_cast<float>(too_few);
    }
    found.is_exact = sample.count < v.elements() && found.count > most;
    found.count = std::min(found.count, wanted);
    return found;
}

class deep_gradient_codec final : public codec {
  public:
    explicit deep_gradient_codec(const deep_gradient_settings& settings) : settings_{settings} {}

    std::string_view name() const noexcept override { return "deep_gradient"; }

    std::optional<float> clip_norm() const override {
        return settings_.clip_norm > 0 ? std::optional{settings_.clip_norm} : std::nullopt;
    }

    result<std::vector<tensor>> first_state(memory_pool& memory, const tensor_shape& shape,
                                            const encode_place&) const override {
        std::vector<tensor> state;
        for (std::size_t i = 0; i < (is_dense(shape) ? 1 : 2); ++i) {
            auto zeros = new_zeros(memory, shape);
            if (!zeros)
                return zeros.failure();
            state.push_back(std::move(*zeros));
        }
        return state;
    }

    result<tensor> encode(compute_context& context, const tensor& gradient, std::span<tensor> state,
                          const encode_place& at) const override {
        return is_dense(gradient.shape()) ? encode_dense(context, gradient, state[0], at)
                                          : encode_largest(context, gradient, state, at);
    }

    // The most bytes of any epoch.
    std::uint64_t payload_bytes(const tensor_shape& shape) const override {
        if (is_dense(shape))
            return sizeof(float) * shape.elements();
        const float ratio = std::max(settings_.ratio, settings_.ratio_at(0));
        return settings_.values.payload_bytes(elements_of_share(shape.elements(), ratio));
    }

    sparse_values values() const override { return settings_.values; }
    // The count after the warm-up.
    std::optional<std::size_t> sparse_numbers(const tensor_shape& shape) const override {
        return is_dense(shape)
                   ? std::nullopt
                   : std::optional{elements_of_share(shape.elements(), settings_.ratio)};
    }

    result<void> check(const tensor_shape& shape, const tensor& payload) const override {
        if (!is_dense(shape)) {
            const auto is_row = check_row(shape, payload, payload_bytes(shape), 1);
            const bool fits = is_row && settings_.values.count_in(payload.bytes());
            return fits ? is_row : wrong_payload(shape, payload);
        }
        return payload && payload.type() == data_type::float32 && payload.shape() == shape
                   ? result<void>{}
                   : wrong_payload(shape, payload);
    }

    result<void> decode(compute_context& context, const tensor& payload, float factor,
                        const tensor* addend, tensor& output) const override {
        if (!is_dense(output.shape())) {
            const auto sparse = settings_.values.widened(context, payload);
            return sparse ? context.ops.run(decode_sparse{{*sparse, factor, addend, output}})
                          : sparse.failure();
        }
        return addend != nullptr ? context.ops.run(add_scaled{*addend, factor, payload, output})
                                 : context.ops.run(scale{payload, factor, output});
    }

  private:
    static bool is_dense(const tensor_shape& shape) { return shape.rank() <= 1; }

    result<tensor> encode_dense(compute_context& context, const tensor& gradient, tensor& u,
                                const encode_place& at) const {
        auto payload = tensor::allocate(context.memory, data_type::float32, gradient.shape());
        if (!payload)
            return payload;
        if (auto cleared = context.ops.run(fill{*payload, 0}); !cleared)
            return cleared.failure();
        const auto done = context.ops.run(
            momentum_correction{settings_.momentum, at.scale, gradient, u, *payload, u, *payload});
        return done ? std::move(payload) : result<tensor>{done.failure()};
    }

    result<tensor> encode_largest(compute_context& context, const tensor& gradient,
                                  std::span<tensor> state, const encode_place& at) const {
        tensor &u = state[0], &v = state[1];
        if (auto done = context.ops.run(
                momentum_correction{settings_.momentum, at.scale, gradient, u, v, u, v});
            !done)
            return done.failure();
        const auto found = find_threshold(context, v, settings_.ratio_at(at.epoch), at);
        if (!found)
            return found.failure();
        auto payload = new_bytes(context, sparse_element_bytes * found->count);
        if (!payload)
            return payload;
        auto done = found->is_exact
                        ? context.ops.run(encode_top{v, *payload})
                        : context.ops.run(encode_at_least{v, found->magnitude, *payload});
        if (done && settings_.masking)
            done = context.ops.run(clear_at{*payload, u});
        return done ? keep_the_rest(context, std::move(*payload), v) : done.failure();
    }

    // The payload of these numbers. Subtracts from v what the receiver decodes: with float32 the number, else its rounded
    // value.
    result<tensor> keep_the_rest(compute_context& context, tensor sparse, tensor& v) const {
        if (settings_.values.are_exact()) {
            const auto cleared = context.ops.run(clear_at{sparse, v});
            return cleared ? std::move(sparse) : result<tensor>{cleared.failure()};
        }
        auto payload = settings_.values.rounded(context, sparse);
        if (!payload)
            return payload;
        const auto kept = decode(context, *payload, -1, &v, v);
        return kept ? std::move(payload) : result<tensor>{kept.failure()};
    }

    deep_gradient_settings settings_;
};

std::size_t rounded_up(double x) {
    return static_cast<std::size_t>(std::ceil(x));
}

} // namespace

float deep_gradient_settings::ratio_at(std::uint32_t epoch) const {
    if (epoch >= warmup_epochs)
        return ratio;
    return static_cast<float>(std::pow(double{ratio}, (epoch + 1.0) / (warmup_epochs + 1.0)));
}

threshold_sample threshold_sample::of(std::size_t elements, float ratio) {
    threshold_sample sample;
    const std::size_t least =
        std::max(elements_of_share(elements, sample_share), rounded_up(2 / double{ratio}));
    if (elements <= rounded_up(2 / double{ratio}))
        sample.count = elements;
    else {
        sample.stride =
            rounded_up(static_cast<double>(elements) / static_cast<double>(least) / 32) * 32 + 1;
        while (elements / sample.stride < least)
            sample.stride -= 8;
        sample.count = elements / sample.stride;
    }
    sample.top = elements_of_share(sample.count, ratio);
    return sample;
}

codec_ptr make_deep_gradient_codec(const deep_gradient_settings& settings) {
    return std::make_shared<deep_gradient_codec>(settings);
}

} // namespace troupe
