#include "actors/collective/sparse_sum.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/arithmetic_scope.hpp"
#include "kernels/cpu/host_sums.hpp"
#include "kernels/ops/sparse.hpp"

namespace troupe {

namespace {

// Appends a sparse payload's numbers to those of a row in which its tensor begins at `first`.
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

// One of the two rows of a rank's inputs.
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

// The numbers of a vector as float32: all of them, or a sparse payload.
result<tensor> whole_tensor_of(memory_pool& memory, const sparse_vector& v) {
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

result<tensor> tensor_of(compute_context& context, const sparse_vector& v,
                         const sparse_values& how) {
    auto whole = whole_tensor_of(context.memory, v);
    if (!whole || how.are_exact())
        return whole;
    if (!v.is_dense())
        return how.rounded(context, *whole);
    auto part = tensor::allocate(context.memory, data_type::uint8, {how.bytes(v.dimension)});
    if (part)
        if (auto done = how.encode(context, *whole, *part); !done)
            return done.failure();
    return part;
}

// All numbers of a dense part; nullopt for a part with indices.
result<std::optional<tensor>> all_of(compute_context& context, const tensor& part,
                                     std::size_t dimension, const sparse_values& how) {
    if (part.type() == data_type::float32)
        return std::optional{part};
    if (how.are_exact() || part.bytes() != how.bytes(dimension))
        return std::optional<tensor>{};
    auto all = tensor::allocate(context.memory, data_type::float32, {dimension});
    if (!all)
        return all.failure();
    if (auto done = how.decode(context, part, *all); !done)
        return done.failure();
    return std::optional{std::move(*all)};
}

// The inverse of tensor_of(), for a part of this dimension whose size has been checked.
result<sparse_vector> vector_from(compute_context& context, const tensor& part,
                                  std::size_t dimension, const sparse_values& how) {
    const auto all = all_of(context, part, dimension, how);
    if (!all)
        return all.failure();
    if (*all)
        return sparse_vector::dense(
            {(*all)->values<float>().begin(), (*all)->values<float>().end()});
    const auto sparse = how.widened(context, part);
    if (!sparse)
        return sparse.failure();
    std::vector<std::uint32_t> indices;
    std::vector<float> values;
    append_sparse(*sparse, 0, indices, values);
    const bool ascend =
        std::ranges::adjacent_find(indices, std::greater_equal{}) == indices.end() &&
        (indices.empty() || indices.back() < dimension);
    if (!ascend)
        return error{errc::protocol,
                     "a sparse part has an index that is too large or not in order"};
    return sparse_vector::make(dimension, std::move(indices), std::move(values));
}

} // namespace

// ---- the plan of all sums of a rank ---------------------------------------------------------------------------------

sparse_plan sparse_plan::make(sparse_algorithm algorithm, std::uint32_t rank, std::uint32_t ranks,
                              std::vector<tensor_shape> shapes, sparse_layout layout) {
    return {algorithm,
            rank,
            ranks,
            std::move(shapes),
            std::move(layout),
            list_transfers(algorithm, rank, ranks)};
}

sparse_values sparse_plan::form_of(std::size_t row, bool is_sum) const {
    return row == 1 && is_sum ? layout.load.values : sparse_values{};
}

namespace {

// True if these could be the numbers of a segment: some with their indices, or all without.
bool could_be(const tensor& numbers, std::size_t dimension, const sparse_values& how) {
    if (!numbers || numbers.shape().rank() != 1)
        return false;
    if (numbers.type() == data_type::float32)
        return how.are_exact() && numbers.elements() == dimension;
    const auto count = how.count_in(numbers.bytes());
    if (numbers.type() != data_type::uint8)
        return false;
    return how.are_exact() ? count && *count < dimension
                           : numbers.bytes() == how.bytes(dimension) ||
                                 (count && numbers.bytes() < how.bytes(dimension));
}

} // namespace

result<void> sparse_plan::check(const reduce_transfer& t, std::span<const tensor> part) const {
    const std::size_t segments = segments_of(algorithm, ranks);
    bool fits = part.size() == 2 * t.receives.count;
    for (std::size_t i = 0; fits && i < part.size(); ++i) {
        const std::size_t row = i % 2;
        const std::size_t elements = row == 0 ? layout.load.dense : layout.load.dimension;
        const std::size_t dimension =
            elements_of(t.receives.first + i / 2, segments, elements).count;
        fits = could_be(part[i], dimension, form_of(row, !t.adds));
    }
    return fits ? result<void>{} : error{errc::protocol, "has not the elements that are due"};
}

// ---- one sum --------------------------------------------------------------------------------------------------------

sparse_sum::sparse_sum(const sparse_plan& plan, std::span<const tensor> payloads,
                       std::vector<float>& lost)
    : plan_{plan}, lost_{lost}, rows_{sparse_reduction{plan.algorithm, plan.rank, plan.ranks,
                                                       row_of(plan, payloads, false)},
                                      sparse_reduction{plan.algorithm, plan.rank, plan.ranks,
                                                       row_of(plan, payloads, true),
                                                       !plan.layout.load.values.are_exact()}} {}

result<sparse_sum> sparse_sum::begin(compute_context& context, const sparse_plan& plan,
                                     std::vector<tensor> payloads, std::vector<float>& lost) {
    for (std::size_t t = 0; t < payloads.size(); ++t)
        if (plan.layout.is_sparse[t]) {
            auto sparse = plan.layout.load.values.widened(context, payloads[t]);
            if (!sparse)
                return sparse.failure();
            payloads[t] = std::move(*sparse);
        }
    return sparse_sum{plan, payloads, lost};
}

// Rounds the final sum that this rank computes, once it is there.
result<void> sparse_sum::round(compute_context& context) {
    const sparse_vector* const sum = rows_[1].to_round();
    if (sum == nullptr)
        return {};
    const cpu::arithmetic_scope scope; // as for all work on a device
    const sparse_values& how = plan_.layout.load.values;
    sparse_vector due = is_dense_in(how, sum->values.size(), sum->dimension)
                            ? sparse_vector::dense(sum->all())
                            : *sum;
    const auto lost_of = [&](std::size_t i) -> float& {
        return lost_[due.is_dense() ? i : due.indices[i]];
    };
    lost_.resize(sum->dimension);
    for (std::size_t i = 0; i < due.values.size(); ++i)
        due.values[i] += lost_of(i);
    const auto part = tensor_of(context, due, how);
    if (!part)
        return part.failure();
    auto sent = vector_from(context, *part, due.dimension, how);
    if (!sent)
        return sent.failure();
    for (std::size_t i = 0; i < due.values.size(); ++i)
        lost_of(i) = due.values[i] - sent->values[i];
    rows_[1].round_to(std::move(*sent));
    return {};
}

result<std::vector<sparse_sum::outgoing>> sparse_sum::send(compute_context& context) {
    if (auto done = round(context); !done)
        return done.failure();
    std::vector<outgoing> list;
    while (const reduce_transfer* const t = rows_[0].next_to_send()) {
        outgoing out{t->to, t->round, sparse_part(2 * t->sends.count)};
        const bool is_sum = sends_sum(*t);
        for (std::size_t row = 0; row < 2; ++row) {
            const auto vectors = rows_[row].send();
            for (std::size_t i = 0; i < vectors.size(); ++i) {
                auto numbers = tensor_of(context, vectors[i], plan_.form_of(row, is_sum));
                if (!numbers)
                    return numbers.failure();
                out.part[2 * i + row] = std::move(*numbers);
            }
        }
        list.push_back(std::move(out));
    }
    return list;
}

result<void> sparse_sum::accept(compute_context& context, std::span<const tensor> part) {
    const cpu::arithmetic_scope scope; // as for all work on a device
    for (std::size_t row = 0; row < 2; ++row) {
        const sparse_values how = plan_.form_of(row, !rows_[row].next_to_take()->adds);
        std::vector<sparse_vector> vectors;
        for (std::size_t i = 0; 2 * i < part.size(); ++i) {
            auto numbers =
                vector_from(context, part[2 * i + row], rows_[row].elements_to_take(i), how);
            if (!numbers)
                return numbers.failure();
            vectors.push_back(std::move(*numbers));
        }
        if (auto taken = rows_[row].accept(std::move(vectors)); !taken)
            return taken;
    }
    return {};
}

result<std::vector<tensor>> sparse_sum::sums(compute_context& context, float factor) const {
    const sparse_vector rows[] = {rows_[0].sum(), rows_[1].sum()};
    std::size_t begins[] = {0, 0}; // first element of the next tensor, by row
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
