#include "kernels/codec/number_form.hpp"

#include "kernels/codec/codecs.hpp"
#include "kernels/ops/payload.hpp"

namespace troupe {

namespace {

constexpr quantizer nearest_steps{.levels = 127, .bucket = norm_share, .nearest = true};

// The form of a codec without state.
class plain_form : public number_form {
  public:
    explicit plain_form(codec_ptr how) : how_{std::move(how)} {}

    std::string_view name() const noexcept override { return how_->name(); }
    std::uint64_t payload_bytes(const tensor_shape& shape) const override {
        return how_->payload_bytes(shape);
    }
    result<void> check(const tensor_shape& shape, const tensor& payload) const override {
        return how_->check(shape, payload);
    }
    result<tensor> encode(compute_context& context, const tensor& numbers) const override {
        return how_->encode(context, numbers, {}, {});
    }
    result<void> decode(compute_context& context, const tensor& payload, float factor,
                        const tensor* addend, tensor& output) const override {
        return how_->decode(context, payload, factor, addend, output);
    }

  private:
    codec_ptr how_;
};

class int8_form final : public plain_form {
  public:
    int8_form() : plain_form{make_quantized_codec("int8", nearest_steps)} {}

    // Checks the norms, too.
    result<void> check(const tensor_shape& shape, const tensor& payload) const override {
        if (auto fits = plain_form::check(shape, payload); !fits || !payload.is_host())
            return fits;
        for (std::size_t b = 0; b < nearest_steps.buckets(shape.elements()); ++b) {
            const auto norm = read_at<float>(payload, b * sizeof(float));
            if (!(norm >= 0 && norm <= 0x1p100f)) // NaN is neither
                return error{errc::numeric, "numbers of a tensor of " + to_string(shape) +
                                                " are not finite, or too large for int8"};
        }
        return {};
    }
};

} // namespace

std::optional<number_form_ptr> make_number_form(proto::NumberForm form) {
    switch (form) {
    case proto::NumberForm::F32:
        return nullptr;
    case proto::NumberForm::BF16:
        return std::make_shared<plain_form>(make_half_codec(half_format::bf16));
    case proto::NumberForm::INT8:
        return std::make_shared<int8_form>();
    }
    return std::nullopt;
}

result<void> encode_numbers(compute_context& context, const number_form* form,
                            std::span<tensor> all) {
    if (form == nullptr)
        return {};
    for (tensor& t : all) {
        if (t.type() != data_type::float32)
            continue;
        auto payload = form->encode(context, t);
        if (!payload)
            return payload.failure();
        t = std::move(*payload);
    }
    return {};
}

result<void> check_numbers(const number_form& form, std::span<const tensor_shape> shapes,
                           std::span<const tensor> payloads) {
    for (std::size_t i = 0; i < payloads.size(); ++i)
        if (auto fits = form.check(shapes[i], payloads[i]); !fits)
            return fits;
    return {};
}

result<void> decode_numbers(compute_context& context, const number_form& form,
                            std::span<const tensor_shape> shapes, std::span<tensor> payloads) {
    for (std::size_t i = 0; i < payloads.size(); ++i) {
        auto numbers = decoded(context, form, shapes[i], payloads[i]);
        if (!numbers)
            return numbers.failure();
        payloads[i] = std::move(*numbers);
    }
    return {};
}

} // namespace troupe
