// The codecs without state: rounded, quantized, signs, the largest numbers, numbers above a threshold.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <ranges>

#include "kernels/codec/codecs.hpp"
#include "kernels/codec/payloads.hpp"
#include "schemas/base/random.hpp"

namespace troupe {

namespace {

// Elements whose codes take whole bytes at any number of bits, and begin at an address that is fast to read.
constexpr std::size_t quantized_unit = 16;
// The least levels of a sum, apart from its sign: 4 bits.
constexpr std::uint32_t levels_of_sums = 7;

// Encodes to a new row of `bytes` bytes.
template <class Encode>
result<tensor> encode_row(compute_context& context, std::size_t bytes, Encode encode) {
    auto payload = new_bytes(context, bytes);
    if (payload)
        if (auto done = encode(*payload); !done)
            return done.failure();
    return payload;
}

class half_codec final : public plain_codec {
  public:
    explicit half_codec(half_format format) : format_{format} {}

    std::string_view name() const noexcept override {
        return format_ == half_format::bf16 ? "bf16" : "f16";
    }
    std::uint64_t payload_bytes(const tensor_shape& shape) const override {
        return 2 * shape.elements();
    }
    std::optional<half_format> half() const override { return format_; }
    result<void> check(const tensor_shape& shape, const tensor& payload) const override {
        return check_row(shape, payload, payload_bytes(shape));
    }
    result<tensor> encode(compute_context& context, const tensor& gradient, std::span<tensor>,
                          const encode_place&) const override {
        return encode_row(context, payload_bytes(gradient.shape()), [&](tensor& payload) {
            return context.ops.run(encode_half{format_, gradient, payload});
        });
    }
    result<void> decode(compute_context& context, const tensor& payload, float factor,
                        const tensor* addend, tensor& output) const override {
        return context.ops.run(decode_half{format_, {payload, factor, addend, output}});
    }

  private:
    half_format format_;
};

class quantized_codec final : public plain_codec, public payload_blocks {
  public:
    quantized_codec(std::string_view name, const quantizer& settings)
        : name_{name}, settings_{settings} {}

    std::string_view name() const noexcept override { return name_; }
    std::uint64_t payload_bytes(const tensor_shape& shape) const override {
        return settings_.payload_bytes(shape.elements());
    }
    result<void> check(const tensor_shape& shape, const tensor& payload) const override {
        return check_row(shape, payload, payload_bytes(shape));
    }
    result<tensor> encode(compute_context& context, const tensor& gradient, std::span<tensor>,
                          const encode_place& at) const override {
        std::uint64_t state = at.seed;
        std::uint64_t stream = split_mix(state);
        state = stream ^ (std::uint64_t{at.replica} << 32 | at.tensor);
        stream = split_mix(state);
        return encode_row(context, payload_bytes(gradient.shape()), [&](tensor& payload) {
            return context.ops.run(quantize{settings_, {stream, at.step}, gradient, payload});
        });
    }
    result<void> decode(compute_context& context, const tensor& payload, float factor,
                        const tensor* addend, tensor& output) const override {
        return context.ops.run(dequantize{settings_, {payload, factor, addend, output}});
    }

    const payload_blocks* blocks() const override { return this; }
    // A unit is a bucket; if the whole tensor is one bucket, elements of whole bytes, and each block has the tensor's norm.
    std::size_t unit(const tensor_shape& shape) const override {
        const std::size_t size = settings_.bucket_size(shape.elements());
        return size < shape.elements() ? size : quantized_unit;
    }
    tensor_shape shape_of(const tensor_shape&, std::size_t elements) const override {
        return {elements};
    }
    result<tensor> cut(memory_pool& memory, const tensor_shape& shape, const tensor& payload,
                       std::size_t first, std::size_t count) const override;
    // A sum of numbers with few levels has more levels. Encoded with few it would have several times their variance, and
    // with clipping it would shrink each time. TernGrad's authors give sums more levels, too.
    codec_ptr of_sums() const override {
        if (settings_.norm != bucket_norm::largest || settings_.levels >= levels_of_sums)
            return nullptr;
        quantizer settings = settings_;
        settings.levels = levels_of_sums;
        settings.clip = 0;
        return make_quantized_codec(name_, settings);
    }

  private:
    std::string_view name_;
    quantizer settings_;
};

// A part has the norms of its buckets, then their codes.
result<tensor> quantized_codec::cut(memory_pool& memory, const tensor_shape& shape,
                                    const tensor& payload, std::size_t first,
                                    std::size_t count) const {
    const std::size_t size = settings_.bucket_size(shape.elements());
    const std::size_t norms = sizeof(float) * settings_.buckets(shape.elements());
    const std::size_t first_norm = sizeof(float) * (first / size);
    const std::size_t code_bytes = (size * settings_.bits() + 7) / 8; // of a bucket
    const std::size_t first_code =
        norms + first / size * code_bytes + first % size * settings_.bits() / 8;
    auto part = tensor::allocate(memory, data_type::uint8, {settings_.payload_bytes(count)});
    if (!part)
        return part;
    const std::size_t own_norms = sizeof(float) * settings_.buckets(count);
    std::memcpy(part->mutable_data(), payload.data() + first_norm, own_norms);
    std::memcpy(part->mutable_data() + own_norms, payload.data() + first_code,
                part->bytes() - own_norms);
    return part;
}

class sign_codec final : public plain_codec, public payload_blocks {
  public:
    std::string_view name() const noexcept override { return "one_bit"; }
    std::uint64_t payload_bytes(const tensor_shape& shape) const override {
        return sign_payload_bytes(shape);
    }
    result<void> check(const tensor_shape& shape, const tensor& payload) const override {
        return check_row(shape, payload, payload_bytes(shape));
    }
    result<tensor> encode(compute_context& context, const tensor& gradient, std::span<tensor>,
                          const encode_place&) const override {
        return encode_row(context, payload_bytes(gradient.shape()), [&](tensor& payload) {
            return context.ops.run(encode_signs{gradient, payload});
        });
    }
    result<void> decode(compute_context& context, const tensor& payload, float factor,
                        const tensor* addend, tensor& output) const override {
        return context.ops.run(decode_signs{{payload, factor, addend, output}});
    }

    const payload_blocks* blocks() const override { return this; }
    // A unit is a row.
    std::size_t unit(const tensor_shape& shape) const override {
        return std::max<std::size_t>(1, shape.elements() / sign_rows(shape));
    }
    tensor_shape shape_of(const tensor_shape& shape, std::size_t elements) const override {
        return shape.rank() >= 2 ? shape.with_first(elements / unit(shape)) : shape;
    }
    result<tensor> cut(memory_pool&, const tensor_shape& shape, const tensor& payload,
                       std::size_t first, std::size_t count) const override {
        const std::size_t row_bytes = payload.bytes() / sign_rows(shape);
        return payload.rows(first / unit(shape) * row_bytes, count / unit(shape) * row_bytes);
    }
};

class top_codec final : public plain_codec {
  public:
    top_codec(float ratio, sparse_values values) : ratio_{ratio}, values_{values} {}

    std::string_view name() const noexcept override { return "top_k"; }
    std::uint64_t payload_bytes(const tensor_shape& shape) const override {
        return values_.payload_bytes(elements_of_share(shape.elements(), ratio_));
    }
    std::optional<std::size_t> sparse_numbers(const tensor_shape& shape) const override {
        return elements_of_share(shape.elements(), ratio_);
    }
    sparse_values values() const override { return values_; }
    result<void> check(const tensor_shape& shape, const tensor& payload) const override {
        return check_row(shape, payload, payload_bytes(shape));
    }
    result<tensor> encode(compute_context& context, const tensor& gradient, std::span<tensor>,
                          const encode_place&) const override {
        const std::size_t count = elements_of_share(gradient.elements(), ratio_);
        const auto sparse = encode_row(context, sparse_element_bytes * count, [&](tensor& payload) {
            return context.ops.run(encode_top{gradient, payload});
        });
        return sparse ? values_.rounded(context, *sparse) : sparse;
    }
    result<void> decode(compute_context& context, const tensor& payload, float factor,
                        const tensor* addend, tensor& output) const override {
        const auto sparse = values_.widened(context, payload);
        return sparse ? context.ops.run(decode_sparse{{*sparse, factor, addend, output}})
                      : sparse.failure();
    }

  private:
    float ratio_;
    sparse_values values_;
};

class threshold_codec final : public plain_codec, public payload_blocks {
  public:
    explicit threshold_codec(float threshold) : threshold_{threshold} {}

    std::string_view name() const noexcept override { return "threshold"; }
    std::uint64_t payload_bytes(const tensor_shape& shape) const override { // at most
        return threshold_element_bytes * shape.elements();
    }
    result<void> check(const tensor_shape& shape, const tensor& payload) const override {
        return check_row(shape, payload, payload_bytes(shape), threshold_element_bytes);
    }
    result<tensor> encode(compute_context& context, const tensor& gradient, std::span<tensor>,
                          const encode_place&) const override {
        std::size_t count = 0;
        if (auto done = context.ops.run(count_at_least{gradient, just_above(threshold_), count});
            !done)
            return done.failure();
        return encode_row(context, threshold_element_bytes * count, [&](tensor& payload) {
            return context.ops.run(encode_threshold{threshold_, gradient, payload});
        });
    }
    result<void> decode(compute_context& context, const tensor& payload, float factor,
                        const tensor* addend, tensor& output) const override {
        return context.ops.run(decode_threshold{threshold_, {payload, factor, addend, output}});
    }

    const payload_blocks* blocks() const override { return this; }
    std::size_t unit(const tensor_shape&) const override { return 1; }
    tensor_shape shape_of(const tensor_shape&, std::size_t elements) const override {
        return {elements};
    }
    result<tensor> cut(memory_pool& memory, const tensor_shape& shape, const tensor& payload,
                       std::size_t first, std::size_t count) const override;
    // Sums in this codec lose no more than float32 sums of multiples of the threshold.
    codec_ptr of_sums() const override { return make_threshold_sums_codec(threshold_); }

  private:
    float threshold_;
};

// A part has the words of its elements, with indices counted from its first element.
result<tensor> threshold_codec::cut(memory_pool& memory, const tensor_shape&, const tensor& payload,
                                    std::size_t first, std::size_t count) const {
    constexpr std::uint32_t sign = 0x80000000u;
    const auto word_at = [&](std::size_t i) {
        std::uint32_t word = 0;
        std::memcpy(&word, payload.data() + threshold_element_bytes * i, sizeof word);
        return word;
    };
    const auto words = std::views::iota(std::size_t{0}, payload.bytes() / threshold_element_bytes);
    const auto place_of = [&](std::size_t index) {
        const auto at = std::ranges::lower_bound(words, index, {},
                                                 [&](std::size_t i) { return word_at(i) & ~sign; });
        return static_cast<std::size_t>(at - words.begin());
    };
    const std::size_t begin = place_of(first), end = place_of(first + count);
    auto part =
        tensor::allocate(memory, data_type::uint8, {threshold_element_bytes * (end - begin)});
    for (std::size_t i = begin; part && i < end; ++i) {
        const std::uint32_t word = word_at(i) - static_cast<std::uint32_t>(first);
        std::memcpy(part->mutable_data() + threshold_element_bytes * (i - begin), &word,
                    sizeof word);
    }
    return part;
}

} // namespace

codec_ptr make_half_codec(half_format format) {
    return std::make_shared<half_codec>(format);
}
codec_ptr make_quantized_codec(std::string_view name, const quantizer& settings) {
    return std::make_shared<quantized_codec>(name, settings);
}
codec_ptr make_sign_codec() {
    return std::make_shared<sign_codec>();
}
codec_ptr make_top_codec(float ratio, sparse_values values) {
    return std::make_shared<top_codec>(ratio, values);
}
codec_ptr make_threshold_codec(float threshold) {
    return std::make_shared<threshold_codec>(threshold);
}

std::size_t elements_of_share(std::size_t elements, float ratio) {
    char text[64];
    const auto end = std::to_chars(text, text + sizeof text, ratio).ptr;
    double exact = 0;
    std::from_chars(text, end, exact);
    // Slightly reduced, as the product of two doubles may be rounded up.
    const double share = static_cast<double>(elements) * exact * (1 - 1e-12);
    return std::min(elements, static_cast<std::size_t>(std::ceil(share)));
}

} // namespace troupe
