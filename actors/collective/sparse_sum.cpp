#include "actors/collective/sparse_sum.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/arithmetic_scope.hpp"
#include "kernels/cpu/host_sums.hpp"
#include "kernels/ops/sparse.hpp"

namespace troupe {

namespace {

// Appends a sparse payload's numbers to those of a row, of which its tensor begins at `first`.
void append_sparse(const tensor& payload, std::size_t first, std::vector<std::uint32_t>& indices,
                   std::vector<float>& values) {
    const std::size_t count = payload.bytes() / sparse_element_bytes, before = values.size();
    indices.resize(before + count);
    values.resize(before + count);
    if (count == 0)
        return;
    std::memcpy(&indices[before], payload.data(), count * sizeof(std::uint32_t));
    std::memcpy(&values[before], payload.data() + count * sizeof(std::uint32_t),
                count * sizeof(float));
    for (std::size_t i = before; i < before + count; ++i)
        indices[i] += static_cast<std::uint32_t>(first);
}

// One of the two rows of what a rank begins with.
sparse_vector row_of(const sparse_plan& plan, std::span<const tensor> payloads, bool sparse) {
    const std::size_t dimension = sparse ? plan.layout.load.dimension : plan.layout.load.dense;
    if (payloads.empty())
        return sparse_vector::make(dimension, {}, {});
    std::vector<std::uint32_t> indices;
    std::vector<float> values;
    std::size_t first = 0;
    for (std::size_t t = 0; t < payloads.size(); ++t) {
        if (plan.layout.is_sparse[t] != sparse)
            continue;
        if (sparse) {
            append_sparse(payloads[t], first, indices, values);
            first += plan.shapes[t].elements();
        } else {
            const auto all = payloads[t].values<float>();
            values.insert(values.end(), all.begin(), all.end());
        }
    }
    return sparse ? sparse_vector::make(dimension, std::move(indices), std::move(values))
                  : sparse_vector::dense(std::move(values));
}

result<tensor> tensor_of(memory_pool& memory, const sparse_vector& v) {
    const std::size_t bytes = v.values.size() * sizeof(float);
    auto part = v.is_dense() ? tensor::allocate(memory, data_type::float32, {v.values.size()})
                             : tensor::allocate(memory, data_type::uint8,
                                                {sparse_element_bytes * v.values.size()});
    if (!part || bytes == 0)
        return part;
    std::byte* to = part->mutable_data();
    if (!v.is_dense()) {
        std::memcpy(to, v.indices.data(), bytes);
        to += bytes;
    }
    std::memcpy(to, v.values.data(), bytes);
    return part;
}

// What tensor_of has made, of a part of this dimension, whose size has been checked.
result<sparse_vector> vector_from(const tensor& part, std::size_t dimension) {
    if (part.type() == data_type::float32)
        return sparse_vector::dense({part.values<float>().begin(), part.values<float>().end()});
    std::vector<std::uint32_t> indices;
    std::vector<float> values;
    append_sparse(part, 0, indices, values);
    const bool ascend =
        std::ranges::adjacent_find(indices, std::greater_equal{}) == indices.end() &&
        (indices.empty() || indices.back() < dimension);
    if (!ascend)
        return error{errc::protocol,
                     "a sparse part has an index that is too large or not in order"};
    return sparse_vector::make(dimension, std::move(indices), std::move(values));
}

} // namespace

// ---- what all sums of a rank have in common -------------------------------------------------------------------------

sparse_plan sparse_plan::make(sparse_algorithm algorithm, std::uint32_t rank, std::uint32_t ranks,
                              std::vector<tensor_shape> shapes, sparse_layout layout) {
    return {algorithm,
            rank,
            ranks,
            std::move(shapes),
            std::move(layout),
            list_transfers(algorithm, rank, ranks)};
}

result<void> sparse_plan::check(const reduce_transfer& t, std::span<const tensor> part) const {
    const std::size_t segments = segments_of(algorithm, ranks);
    bool fits = part.size() == 2;
    for (std::size_t row = 0; fits && row < 2; ++row) {
        const std::size_t elements = row == 0 ? layout.load.dense : layout.load.dimension;
        const std::size_t dimension = elements_of(t.receives.first, segments, elements).count;
        const tensor& numbers = part[row];
        fits =
            numbers && (numbers.type() == data_type::float32
                            ? numbers.shape() == tensor_shape{dimension}
                            : numbers.type() == data_type::uint8 && numbers.shape().rank() == 1 &&
                                  numbers.bytes() % sparse_element_bytes == 0 &&
                                  numbers.bytes() / sparse_element_bytes < dimension);
    }
    return fits ? result<void>{} : error{errc::protocol, "has not the elements that are due"};
}

// ---- one of them ----------------------------------------------------------------------------------------------------

sparse_sum::sparse_sum(const sparse_plan& plan, std::span<const tensor> payloads)
    : plan_{plan}, rows_{sparse_reduction{plan.algorithm, plan.rank, plan.ranks,
                                          row_of(plan, payloads, false)},
                         sparse_reduction{plan.algorithm, plan.rank, plan.ranks,
                                          row_of(plan, payloads, true)}} {}

result<std::vector<sparse_sum::outgoing>> sparse_sum::send(compute_context& context) {
    std::vector<outgoing> list;
    while (const reduce_transfer* const t = rows_[0].next_to_send()) {
        outgoing out{t->to, t->round, {}};
        for (std::size_t row = 0; row < 2; ++row) {
            auto part = tensor_of(context.memory, rows_[row].send());
            if (!part)
                return part.failure();
            out.part[row] = std::move(*part);
        }
        list.push_back(std::move(out));
    }
    return list;
}

result<void> sparse_sum::take(std::span<const tensor> part) {
    const cpu::arithmetic_scope scope; // as all that is computed on a device
    for (std::size_t row = 0; row < 2; ++row) {
        auto numbers = vector_from(part[row], rows_[row].elements_to_take());
        if (!numbers)
            return numbers.failure();
        if (auto taken = rows_[row].take(*numbers); !taken)
            return taken;
    }
    return {};
}

result<std::vector<tensor>> sparse_sum::sums(compute_context& context, float factor) const {
    const sparse_vector rows[] = {rows_[0].sum(), rows_[1].sum()};
    std::size_t begins[] = {0, 0}; // of the next tensor, its first element
    std::vector<tensor> sums;
    for (std::size_t t = 0; t < plan_.shapes.size(); ++t) {
        auto sum = tensor::allocate(context.memory, data_type::float32, plan_.shapes[t]);
        if (!sum)
            return sum.failure();
        const bool row = plan_.layout.is_sparse[t];
        const std::size_t elements = sum->elements();
        const std::vector<float> all = rows[row].part({begins[row], elements}).all();
        scale_on_host(all.data(), factor, sum->mutable_values<float>().data(), elements);
        begins[row] += elements;
        sums.push_back(std::move(*sum));
    }
    return sums;
}

} // namespace troupe
