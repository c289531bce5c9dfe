#include "kernels/codec/codecs.hpp"
#include "kernels/codec/payloads.hpp"

namespace troupe {

namespace {

class feedback_codec final : public codec {
  public:
    explicit feedback_codec(codec_ptr inner) : inner_{std::move(inner)} {}

    std::string_view name() const noexcept override { return inner_->name(); }

    result<std::vector<tensor>> first_state(memory_pool& memory, const tensor_shape& shape,
                                            const encode_place&) const override {
        auto lost = new_zeros(memory, shape);
        if (!lost)
            return lost.failure();
        return std::vector<tensor>{std::move(*lost)};
    }

    result<tensor> encode(compute_context& context, const tensor& gradient, std::span<tensor> state,
                          const encode_place& at) const override {
        tensor& e = state[0];
        if (auto added = context.ops.run(add_scaled{gradient, 1, e, e}); !added)
            return added.failure();
        auto payload = inner_->encode(context, e, {}, at);
        if (!payload)
            return payload;
        if (auto kept = inner_->decode(context, *payload, -1, &e, e); !kept)
            return kept.failure();
        return payload;
    }

    std::uint64_t payload_bytes(const tensor_shape& shape) const override {
        return inner_->payload_bytes(shape);
    }
    std::optional<std::size_t> sparse_numbers(const tensor_shape& shape) const override {
        return inner_->sparse_numbers(shape);
    }
    sparse_values values() const override { return inner_->values(); }
    std::optional<half_format> half() const override { return inner_->half(); }
    const payload_blocks* blocks() const override { return inner_->blocks(); }
    result<void> check(const tensor_shape& shape, const tensor& payload) const override {
        return inner_->check(shape, payload);
    }
    result<void> decode(compute_context& context, const tensor& payload, float factor,
                        const tensor* addend, tensor& output) const override {
        return inner_->decode(context, payload, factor, addend, output);
    }

  private:
    codec_ptr inner_;
};

} // namespace

codec_ptr with_error_feedback(codec_ptr inner) {
    return std::make_shared<feedback_codec>(std::move(inner));
}

} // namespace troupe
