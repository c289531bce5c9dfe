#include "actors/collective/sparse_reduce.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "schemas/base/check.hpp"

namespace troupe {

// ---- vectors --------------------------------------------------------------------------------------------------------

sparse_vector sparse_vector::make(std::size_t dimension, std::vector<std::uint32_t> indices,
                                  std::vector<float> values) {
    TROUPE_CHECK(indices.size() == values.size() && values.size() <= dimension,
                 "each number has a place of its own");
    sparse_vector v{dimension, std::move(indices), std::move(values)};
    if (v.is_dense())
        v.indices.clear();
    return v;
}

sparse_vector sparse_vector::dense(std::vector<float> values) {
    const std::size_t dimension = values.size();
    return {dimension, {}, std::move(values)};
}

std::size_t sparse_vector::bytes() const noexcept {
    constexpr std::size_t count = sizeof(std::uint32_t);
    return count +
           values.size() * (is_dense() ? sizeof(float) : sizeof(float) + sizeof(std::uint32_t));
}

std::vector<float> sparse_vector::all() const {
    if (is_dense())
        return values;
    std::vector<float> numbers(dimension);
    for (std::size_t i = 0; i < values.size(); ++i)
        numbers[indices[i]] = values[i];
    return numbers;
}

sparse_vector sparse_vector::part(index_range range) const {
    const auto at = [](const auto& list, std::size_t i) {
        return list.begin() + static_cast<std::ptrdiff_t>(i);
    };
    if (is_dense())
        return dense({at(values, range.first), at(values, range.first + range.count)});
    const auto place_of = [&](std::size_t index) {
        return static_cast<std::size_t>(
            std::ranges::lower_bound(indices, index, {},
                                     [](std::uint32_t i) { return std::size_t{i}; }) -
            indices.begin());
    };
    const std::size_t first = place_of(range.first);
    const std::size_t end = place_of(range.first + range.count);
    std::vector<std::uint32_t> places{at(indices, first), at(indices, end)};
    for (std::uint32_t& place : places)
        place -= static_cast<std::uint32_t>(range.first);
    return make(range.count, std::move(places), {at(values, first), at(values, end)});
}

namespace {

sparse_vector dense_sum(const sparse_vector& a, const sparse_vector& b) {
    std::vector<float> sums = a.all();
    if (b.is_dense())
        for (std::size_t i = 0; i < sums.size(); ++i)
            sums[i] += b.values[i];
    else
        for (std::size_t i = 0; i < b.values.size(); ++i)
            sums[b.indices[i]] += b.values[i];
    return sparse_vector::dense(std::move(sums));
}

} // namespace

sparse_vector sum_of(const sparse_vector& a, const sparse_vector& b) {
    TROUPE_CHECK(a.dimension == b.dimension, "vectors that are summed are of one dimension");
    if (a.is_dense() || b.is_dense() || is_dense_sum(a.values.size(), b.values.size(), a.dimension))
        return dense_sum(a, b);
    std::vector<std::uint32_t> indices;
    std::vector<float> values;
    indices.reserve(a.values.size() + b.values.size());
    values.reserve(a.values.size() + b.values.size());
    std::size_t i = 0, j = 0;
    while (i < a.values.size() || j < b.values.size()) {
        const std::uint64_t of_a = i < a.values.size() ? a.indices[i] : a.dimension;
        const std::uint64_t of_b = j < b.values.size() ? b.indices[j] : b.dimension;
        indices.push_back(static_cast<std::uint32_t>(std::min(of_a, of_b)));
        values.push_back(of_a == of_b  ? a.values[i] + b.values[j]
                         : of_a < of_b ? a.values[i]
                                       : b.values[j]);
        i += of_a <= of_b;
        j += of_b <= of_a;
    }
    return sparse_vector::make(a.dimension, std::move(indices), std::move(values));
}

sparse_vector in_a_row(std::span<const sparse_vector> parts) {
    std::size_t dimension = 0, numbers = 0;
    bool any_dense = false;
    for (const sparse_vector& part : parts) {
        dimension += part.dimension;
        numbers += part.values.size();
        any_dense = any_dense || (part.is_dense() && part.dimension > 0);
    }
    if (any_dense) {
        std::vector<float> values;
        values.reserve(dimension);
        for (const sparse_vector& part : parts) {
            const auto all = part.all();
            values.insert(values.end(), all.begin(), all.end());
        }
        return sparse_vector::dense(std::move(values));
    }
    std::vector<std::uint32_t> indices;
    std::vector<float> values;
    indices.reserve(numbers);
    values.reserve(numbers);
    std::size_t first = 0;
    for (const sparse_vector& part : parts) {
        for (const std::uint32_t index : part.indices)
            indices.push_back(static_cast<std::uint32_t>(first + index));
        values.insert(values.end(), part.values.begin(), part.values.end());
        first += part.dimension;
    }
    return sparse_vector::make(dimension, std::move(indices), std::move(values));
}

// ---- who sends what -------------------------------------------------------------------------------------------------

std::size_t segments_of(sparse_algorithm algorithm, std::uint32_t ranks) {
    return algorithm == sparse_algorithm::recursive_doubling ? 1 : ranks;
}

std::vector<reduce_transfer> list_transfers(sparse_algorithm algorithm, std::uint32_t rank,
                                            std::uint32_t ranks) {
    if (algorithm == sparse_algorithm::recursive_doubling)
        return list_transfers(proto::AllReduceAlgorithm::RECURSIVE_DOUBLING, rank,
                              rank_nodes{ranks});
    std::vector<reduce_transfer> list;
    for (const bool adds : {true, false})
        for (std::uint32_t away = 1; away < ranks; ++away) {
            const std::uint32_t to = (rank + away) % ranks;
            const std::uint32_t from = (rank + ranks - away) % ranks;
            list.push_back({static_cast<std::uint32_t>(list.size()),
                            to,
                            {adds ? to : rank, 1},
                            from,
                            {adds ? rank : from, 1},
                            adds});
        }
    return list;
}

sparse_algorithm choose_sparse(std::uint32_t ranks, std::size_t dimension, std::size_t numbers,
                               const reduce_costs& costs) {
    if (ranks < 2)
        return sparse_algorithm::recursive_doubling;
    const auto n = static_cast<double>(dimension);
    const double share = static_cast<double>(numbers) / std::max(n, 1.0);
    const double p = ranks;
    // Bytes of the sum of so many ranks' vectors of this dimension, of which each has this share.
    const auto bytes_of = [&](double among, double of) {
        return std::min(8 * of * (1 - std::pow(1 - share, among)), 4 * of) + 4;
    };
    const auto time_of = [&](double messages, double bytes) {
        return messages * costs.between_nodes.latency_ns +
               bytes * (costs.between_nodes.byte_ns + costs.add_byte_ns);
    };
    const bool folds = !std::has_single_bit(ranks);
    double doubled = folds ? bytes_of(1, n) + bytes_of(p, n) : 0;
    double rounds = folds ? 2 : 0;
    for (double among = 1; 2 * among <= p; among *= 2, ++rounds)
        doubled += bytes_of(among, n);
    const double split = (p - 1) * bytes_of(1, n / p);
    const double sparse = split + (p - 1) * bytes_of(p, n / p);
    const double dense = split + (p - 1) * (4 + 4 * n / p);
    if (time_of(rounds, doubled) <= time_of(2 * (p - 1), std::min(sparse, dense)))
        return sparse_algorithm::recursive_doubling;
    return sparse < dense ? sparse_algorithm::split_all_gather : sparse_algorithm::split_dense;
}

// ---- one rank -------------------------------------------------------------------------------------------------------

sparse_reduction::sparse_reduction(sparse_algorithm algorithm, std::uint32_t rank,
                                   std::uint32_t ranks, const sparse_vector& own)
    : dimension_{own.dimension}, sends_dense_{algorithm == sparse_algorithm::split_dense},
      transfers_{list_transfers(algorithm, rank, ranks)} {
    const std::size_t segments = segments_of(algorithm, ranks);
    for (std::size_t s = 0; s < segments; ++s)
        segments_.push_back(own.part(elements_of(s, segments, own.dimension)));
}

const reduce_transfer* sparse_reduction::next() const {
    return next_ < transfers_.size() ? &transfers_[next_] : nullptr;
}

sparse_vector sparse_reduction::part_to_send() const {
    const reduce_transfer& t = transfers_[next_];
    const sparse_vector& part = segments_[t.sends.first];
    return sends_dense_ && !t.adds ? sparse_vector::dense(part.all()) : part;
}

result<void> sparse_reduction::take(const sparse_vector& received) {
    const reduce_transfer& t = transfers_[next_];
    sparse_vector& held = segments_[t.receives.first];
    if (received.dimension != held.dimension)
        return error{errc::protocol, "a part of " + std::to_string(received.dimension) +
                                         " numbers where " + std::to_string(held.dimension) +
                                         " are due"};
    held = t.adds ? sum_of(held, received) : received;
    return {};
}

sparse_vector sparse_reduction::sum() const {
    sparse_vector sum = in_a_row(segments_);
    return sends_dense_ ? sparse_vector::dense(sum.all()) : sum;
}

} // namespace troupe
