#include <algorithm>
#include <bit>
#include <numeric>

#include "kernels/ops/payload.hpp"
#include "kernels/reference/reference_operations.hpp"

namespace troupe {

namespace {

// In an order that NaN has a place in.
std::uint32_t bits_of_magnitude(float x) {
    return std::bit_cast<std::uint32_t>(x) & 0x7fffffff;
}

std::size_t elements_of(const tensor& payload) {
    return payload.bytes() / sparse_element_bytes;
}

std::vector<std::uint32_t> indices_at_least(const tensor& input, float magnitude) {
    std::vector<std::uint32_t> indices;
    for (std::size_t i = 0; i < input.elements(); ++i)
        if (bits_of_magnitude(input.values<float>()[i]) >= bits_of_magnitude(magnitude))
            indices.push_back(static_cast<std::uint32_t>(i));
    return indices;
}

void write_sparse(const tensor& input, std::span<const std::uint32_t> indices, tensor& payload) {
    for (std::size_t i = 0; i < indices.size(); ++i) {
        write_at(payload, 4 * i, indices[i]);
        write_at(payload, 4 * (indices.size() + i), input.values<float>()[indices[i]]);
    }
}

// Reads them from a payload that begins with `count` of them; in the highest bit of each may be something else.
result<std::vector<std::uint32_t>> read_indices(const tensor& payload, std::size_t count,
                                                std::size_t elements, std::uint32_t mask) {
    std::vector<std::uint32_t> indices;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t index = read_at<std::uint32_t>(payload, 4 * i) & mask;
        if (index >= elements || (i > 0 && index <= indices.back()))
            return wrong_index();
        indices.push_back(index);
    }
    return indices;
}

void begin_with_addend(const decode_operands& o) {
    for (std::size_t i = 0; i < o.output.elements(); ++i)
        o.output.mutable_values<float>()[i] =
            o.addend != nullptr ? o.addend->values<float>()[i] : 0;
}

} // namespace

result<void> reference_operations::compute(const nth_magnitude& op) {
    std::vector<std::uint32_t> all;
    for (std::size_t i = op.first; i < op.input.elements(); i += op.stride)
        all.push_back(bits_of_magnitude(op.input.values<float>()[i]));
    std::ranges::sort(all, std::ranges::greater{});
    op.magnitude = std::bit_cast<float>(all[op.rank - 1]);
    return {};
}

result<void> reference_operations::compute(const count_at_least& op) {
    op.count = indices_at_least(op.input, op.magnitude).size();
    return {};
}

result<void> reference_operations::compute(const encode_top& op) {
    std::vector<std::uint32_t> indices(op.input.elements());
    std::iota(indices.begin(), indices.end(), 0);
    std::ranges::stable_sort(indices, std::ranges::greater{}, [&](std::uint32_t i) {
        return bits_of_magnitude(op.input.values<float>()[i]);
    });
    indices.resize(elements_of(op.payload));
    std::ranges::sort(indices);
    write_sparse(op.input, indices, op.payload);
    return {};
}

result<void> reference_operations::compute(const encode_at_least& op) {
    const auto indices = indices_at_least(op.input, op.magnitude);
    if (indices.size() < elements_of(op.payload))
        return too_few_large(indices.size());
    write_sparse(op.input, std::span{indices}.first(elements_of(op.payload)), op.payload);
    return {};
}

result<void> reference_operations::compute(const decode_sparse& op) {
    const decode_operands& o = op.operands;
    const std::size_t count = elements_of(o.payload);
    const auto indices = read_indices(o.payload, count, o.output.elements(), ~std::uint32_t{0});
    if (!indices)
        return indices.failure();
    begin_with_addend(o);
    for (std::size_t i = 0; i < count; ++i)
        o.output.mutable_values<float>()[(*indices)[i]] +=
            o.factor * read_at<float>(o.payload, 4 * (count + i));
    return {};
}

result<void> reference_operations::compute(const clear_at& op) {
    const auto indices =
        read_indices(op.payload, elements_of(op.payload), op.output.elements(), ~std::uint32_t{0});
    if (!indices)
        return indices.failure();
    for (const std::uint32_t i : *indices)
        op.output.mutable_values<float>()[i] = 0;
    return {};
}

result<void> reference_operations::compute(const encode_threshold& op) {
    const auto indices = indices_at_least(op.input, just_above(op.threshold));
    if (indices.size() * threshold_element_bytes != op.payload.bytes())
        return wrong_count_above(indices.size());
    for (std::size_t i = 0; i < indices.size(); ++i) {
        const std::uint32_t sign =
            std::bit_cast<std::uint32_t>(op.input.values<float>()[indices[i]]) & 0x80000000;
        write_at(op.payload, 4 * i, indices[i] | sign);
    }
    return {};
}

result<void> reference_operations::compute(const decode_threshold& op) {
    const decode_operands& o = op.operands;
    const std::size_t count = o.payload.bytes() / threshold_element_bytes;
    const auto indices = read_indices(o.payload, count, o.output.elements(), 0x7fffffff);
    if (!indices)
        return indices.failure();
    begin_with_addend(o);
    for (std::size_t i = 0; i < count; ++i) {
        const bool negative = (read_at<std::uint32_t>(o.payload, 4 * i) & 0x80000000) != 0;
        o.output.mutable_values<float>()[(*indices)[i]] +=
            o.factor * (negative ? -op.threshold : op.threshold);
    }
    return {};
}

result<void> reference_operations::compute(const momentum_correction& op) {
    for (std::size_t i = 0; i < op.gradient.elements(); ++i) {
        const double velocity = double{op.momentum} * double{op.velocity.values<float>()[i]} +
                                double{op.scale} * double{op.gradient.values<float>()[i]};
        const double sum = double{op.sum.values<float>()[i]} + velocity;
        op.new_velocity.mutable_values<float>()[i] = static_cast<float>(velocity);
        op.new_sum.mutable_values<float>()[i] = static_cast<float>(sum);
    }
    return {};
}

} // namespace troupe
