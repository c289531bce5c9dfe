#include "kernels/ops/codecs.hpp"

#include <algorithm>
#include <bit>

#include "kernels/ops/codec_check.hpp"

namespace troupe {

result<void> encode_half::check() const {
    return operand_check{"encode_half"}
        .is("input", input, input.shape())
        .is("payload", payload, {2 * input.elements()}, data_type::uint8)
        .outcome();
}

result<void> decode_half::check() const {
    operand_check check{"decode_half"};
    return check_decode(check, operands, {2 * operands.output.elements()});
}

// ---- quantized ------------------------------------------------------------------------------------------------------

std::size_t quantizer::bits() const noexcept {
    return static_cast<std::size_t>(std::bit_width(2 * levels));
}

std::size_t quantizer::bucket_size(std::size_t elements) const noexcept {
    return bucket == 0 ? elements : std::min(bucket, elements);
}

std::size_t quantizer::buckets(std::size_t elements) const noexcept {
    return elements == 0 ? 0 : (elements - 1) / bucket_size(elements) + 1;
}

std::size_t quantizer::payload_bytes(std::size_t elements) const noexcept {
    if (elements == 0)
        return 0;
    const auto bytes = [&](std::size_t count) { return (count * bits() + 7) / 8; };
    const std::size_t size = bucket_size(elements);
    const std::size_t full = buckets(elements) - 1;
    return buckets(elements) * sizeof(float) + full * bytes(size) + bytes(elements - full * size);
}

namespace {

operand_check& require_quantizer(operand_check& check, const quantizer& q) {
    return check.require(q.levels >= 1 && q.levels <= 127, "levels are not in 1..127")
        .require(q.clip >= 0, "clip is negative")
        .require(q.clip == 0 || q.norm == bucket_norm::largest, "only the largest can be clipped")
        .require(!q.nearest || (q.norm == bucket_norm::largest && q.clip == 0),
                 "the nearest is of steps up to the largest, unclipped");
}

} // namespace

result<void> quantize::check() const {
    operand_check check{"quantize"};
    return require_quantizer(check, settings)
        .is("input", input, input.shape())
        .is("payload", payload, {settings.payload_bytes(input.elements())}, data_type::uint8)
        .outcome();
}

result<void> dequantize::check() const {
    operand_check check{"dequantize"};
    require_quantizer(check, settings);
    return check_decode(check, operands, {settings.payload_bytes(operands.output.elements())});
}

// ---- signs ----------------------------------------------------------------------------------------------------------

std::size_t sign_rows(const tensor_shape& shape) noexcept {
    return shape.rank() >= 2 ? shape[0] : 1;
}

std::size_t sign_payload_bytes(const tensor_shape& shape) noexcept {
    const std::size_t rows = sign_rows(shape);
    return rows == 0 ? 0 : rows * (2 * sizeof(float) + (shape.elements() / rows + 7) / 8);
}

result<void> encode_signs::check() const {
    return operand_check{"encode_signs"}
        .is("input", input, input.shape())
        .is("payload", payload, {sign_payload_bytes(input.shape())}, data_type::uint8)
        .outcome();
}

result<void> decode_signs::check() const {
    operand_check check{"decode_signs"};
    return check_decode(check, operands, {sign_payload_bytes(operands.output.shape())});
}

} // namespace troupe
