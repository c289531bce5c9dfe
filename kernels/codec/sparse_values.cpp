#include "kernels/codec/sparse_values.hpp"

#include "kernels/codec/codecs.hpp"
#include "kernels/ops/ops.hpp"

namespace troupe {

namespace {

constexpr std::size_t place_bytes = sizeof(std::uint32_t);

quantizer steps_of(proto::SparseValues form) {
    return {.levels = form == proto::SparseValues::INT8 ? 127u : 7u,
            .bucket = norm_share,
            .nearest = true};
}

bool is_half(proto::SparseValues form) {
    return form == proto::SparseValues::F16;
}

// The numbers of a payload of float32 numbers that begins its buffer.
tensor numbers_of(const tensor& payload, std::size_t count) {
    return {data_type::float32, {count}, payload.storage(), place_bytes * count};
}

result<void> copy_places(compute_context& context, const tensor& from, tensor& to,
                         std::size_t count) {
    tensor there = to.rows(0, place_bytes * count);
    return context.ops.run(transfer{from.rows(0, place_bytes * count), there});
}

} // namespace

bool is_known(proto::SparseValues form) noexcept {
    return form <= proto::SparseValues::INT4;
}

std::string_view sparse_values::name() const noexcept {
    constexpr std::string_view names[] = {"f32", "f16", "int8", "int4"};
    return names[static_cast<std::size_t>(form_)];
}

std::uint64_t sparse_values::bytes(std::uint64_t count) const noexcept {
    return are_exact()      ? sizeof(float) * count
           : is_half(form_) ? 2 * count
                            : steps_of(form_).payload_bytes(count);
}

double sparse_values::bytes_each() const noexcept {
    return static_cast<double>(bytes(norm_share)) / norm_share;
}

std::optional<std::uint64_t> sparse_values::count_in(std::uint64_t payload_bytes) const noexcept {
    std::uint64_t least = 0, most = payload_bytes / place_bytes;
    while (least < most) {
        const std::uint64_t middle = least + (most - least) / 2;
        if (this->payload_bytes(middle) < payload_bytes)
            least = middle + 1;
        else
            most = middle;
    }
    return this->payload_bytes(least) == payload_bytes ? std::optional{least} : std::nullopt;
}

result<tensor> sparse_values::rounded(compute_context& context, const tensor& payload) const {
    if (are_exact() || payload.bytes() == 0)
        return payload;
    const std::size_t count = payload.bytes() / (place_bytes + sizeof(float));
    auto made = tensor::allocate(context.memory, data_type::uint8, {payload_bytes(count)});
    if (!made)
        return made;
    auto done = copy_places(context, payload, *made, count);
    tensor values = made->rows(place_bytes * count, bytes(count));
    if (done)
        done = encode(context, numbers_of(payload, count), values);
    return done ? std::move(made) : result<tensor>{done.failure()};
}

result<tensor> sparse_values::widened(compute_context& context, const tensor& payload) const {
    if (are_exact() || payload.bytes() == 0)
        return payload;
    const auto found = count_in(payload.bytes());
    TROUPE_CHECK(found, "who takes a payload has looked at its size");
    const std::size_t count = *found;
    auto made =
        tensor::allocate(context.memory, data_type::uint8, {(place_bytes + sizeof(float)) * count});
    if (!made)
        return made;
    auto done = copy_places(context, payload, *made, count);
    tensor numbers = numbers_of(*made, count);
    if (done)
        done = decode(context, payload.rows(place_bytes * count, bytes(count)), numbers);
    return done ? std::move(made) : result<tensor>{done.failure()};
}

result<void> sparse_values::encode(compute_context& context, const tensor& numbers,
                                   tensor& bytes) const {
    if (numbers.elements() == 0)
        return {};
    return is_half(form_) ? context.ops.run(encode_half{half_format::f16, numbers, bytes})
                          : context.ops.run(quantize{steps_of(form_), {}, numbers, bytes});
}

result<void> sparse_values::decode(compute_context& context, const tensor& bytes,
                                   tensor& numbers) const {
    if (numbers.elements() == 0)
        return {};
    const decode_operands operands{bytes, 1, nullptr, numbers};
    return is_half(form_) ? context.ops.run(decode_half{half_format::f16, operands})
                          : context.ops.run(dequantize{steps_of(form_), operands});
}

} // namespace troupe
