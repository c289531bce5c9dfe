// The codec for sums of payloads of `threshold`: each number is a count of plus or minus the threshold.
#include <algorithm>
#include <cstring>

#include "kernels/codec/codecs.hpp"
#include "kernels/codec/payloads.hpp"

namespace troupe {

namespace {

// More than the number of senders can be, and so few that a malicious payload of many short layers costs a receiver little.
constexpr std::size_t layers_max = 128;

std::uint32_t index_at(const tensor& payload, std::size_t word) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, payload.data() + threshold_element_bytes * word, sizeof bits);
    return bits & 0x7fffffffu;
}

class threshold_sums_codec final : public plain_codec {
  public:
    explicit threshold_sums_codec(float threshold) : threshold_{threshold} {}

    std::string_view name() const noexcept override { return "threshold"; }
    std::uint64_t payload_bytes(const tensor_shape& shape) const override { // at most
        return sizeof(float) * shape.elements();
    }
    result<void> check(const tensor_shape& shape, const tensor& payload) const override {
        return check_row(shape, payload, payload_bytes(shape), threshold_element_bytes);
    }
    result<tensor> encode(compute_context& context, const tensor& sum, std::span<tensor>,
                          const encode_place&) const override;
    result<void> decode(compute_context& context, const tensor& payload, float factor,
                        const tensor* addend, tensor& output) const override;

  private:
    // True if a payload of so many bytes has float32 numbers.
    static bool is_dense(std::size_t bytes, const tensor_shape& shape) {
        return bytes >= sizeof(float) * shape.elements();
    }
    // Takes the next layer from the rest of the sum; empty if no number of the rest needs one.
    result<tensor> take_layer(compute_context& context, tensor& rest) const;
    result<void> decode_dense(compute_context& context, const tensor& payload, float factor,
                              const tensor* addend, tensor& output) const;

    float threshold_;
};

result<tensor> threshold_sums_codec::take_layer(compute_context& context, tensor& rest) const {
    std::size_t count = 0;
    const float least = threshold_ / 2;
    if (auto done = context.ops.run(count_at_least{rest, just_above(least), count}); !done)
        return done.failure();
    auto layer = new_bytes(context, threshold_element_bytes * count);
    if (!layer)
        return layer;
    if (auto done = context.ops.run(encode_threshold{least, rest, *layer}); !done)
        return done.failure();
    if (auto done = context.ops.run(decode_threshold{threshold_, {*layer, -1, &rest, rest}}); !done)
        return done.failure();
    return layer;
}

result<tensor> threshold_sums_codec::encode(compute_context& context, const tensor& sum,
                                            std::span<tensor>, const encode_place&) const {
    auto rest = tensor::allocate(context.memory, data_type::float32, sum.shape());
    if (!rest)
        return rest;
    if (auto copied = context.ops.run(scale{sum, 1, *rest}); !copied)
        return copied.failure();
    std::vector<tensor> layers;
    std::size_t bytes = 0;
    do {
        auto layer = take_layer(context, *rest);
        if (!layer)
            return layer;
        layers.push_back(std::move(*layer));
        bytes += layers.back().bytes();
    } while (layers.back().bytes() > 0 && layers.size() <= layers_max &&
             !is_dense(bytes, sum.shape()));
    const bool as_it_is = layers.back().bytes() > 0;
    if (as_it_is)
        layers.assign(1, sum);
    auto payload = new_bytes(context, as_it_is ? payload_bytes(sum.shape()) : bytes);
    if (!payload)
        return payload;
    std::byte* to = payload->mutable_data();
    for (const tensor& layer : layers)
        to = std::copy_n(layer.data(), layer.bytes(), to);
    return payload;
}

result<void> threshold_sums_codec::decode_dense(compute_context& context, const tensor& payload,
                                                float factor, const tensor* addend,
                                                tensor& output) const {
    auto numbers = tensor::allocate(context.memory, data_type::float32, output.shape());
    if (!numbers)
        return numbers.failure();
    std::copy_n(payload.data(), payload.bytes(),
                numbers->mutable_data()); // the source need not be aligned
    return addend != nullptr ? context.ops.run(add_scaled{*addend, factor, *numbers, output})
                             : context.ops.run(scale{*numbers, factor, output});
}

result<void> threshold_sums_codec::decode(compute_context& context, const tensor& payload,
                                          float factor, const tensor* addend,
                                          tensor& output) const {
    if (is_dense(payload.bytes(), output.shape()))
        return decode_dense(context, payload, factor, addend, output);
    const std::size_t words = payload.bytes() / threshold_element_bytes;
    std::size_t begin = 0;
    for (std::size_t layer = 0; begin < words || layer == 0; ++layer) {
        if (layer == layers_max)
            return error{errc::protocol, "a sum of payloads has too many layers"};
        std::size_t end = std::min(begin + 1, words);
        while (end < words && index_at(payload, end - 1) < index_at(payload, end))
            ++end;
        const tensor part =
            payload.rows(threshold_element_bytes * begin, threshold_element_bytes * (end - begin));
        if (auto done = context.ops.run(decode_threshold{
                threshold_, {part, factor, layer == 0 ? addend : &output, output}});
            !done)
            return done;
        begin = end;
    }
    return {};
}

} // namespace

codec_ptr make_threshold_sums_codec(float threshold) {
    return std::make_shared<threshold_sums_codec>(threshold);
}

} // namespace troupe
