#include "actors/collective/sparse_reduce.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
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
    return values.size() * (is_dense() ? sizeof(float) : sizeof(float) + sizeof(std::uint32_t));
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

// What is missing counts as 0, whoever's it is: the same bits for a + b and b + a, also where one is -0.
sparse_vector dense_sum(const sparse_vector& a, const sparse_vector& b) {
    std::vector<float> sums = a.all();
    const std::vector<float> more = b.all();
    for (std::size_t i = 0; i < sums.size(); ++i)
        sums[i] += more[i];
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

std::string_view name_of(sparse_algorithm algorithm) {
    switch (algorithm) {
    case sparse_algorithm::recursive_doubling:
        return "recursive doubling";
    case sparse_algorithm::split_all_gather:
        return "split all-gather";
    case sparse_algorithm::split_dense:
        break;
    }
    return "split all-gather, dense";
}

namespace {

// What the busiest rank sends.
struct sparse_cost {
    double messages = 0;
    double bytes = 0;
};

// `union_of`: by how many times as many numbers the sum of so many ranks' vectors has as one of them.
template <class Union>
sparse_cost cost_of(sparse_algorithm algorithm, std::uint32_t ranks, const sparse_load& load,
                    Union union_of) {
    const double p = ranks;
    const auto bytes_of = [&](double among, double part) {
        const double dimension = part * static_cast<double>(load.dimension);
        const double numbers = part * static_cast<double>(load.numbers) * union_of(among);
        return std::min(8 * numbers, 4 * dimension) + 4 * part * static_cast<double>(load.dense);
    };
    if (algorithm == sparse_algorithm::recursive_doubling) {
        const bool folds = !std::has_single_bit(ranks);
        sparse_cost cost;
        double held = 1; // ranks that a partner's sum is of
        if (folds)       // the busiest takes another's in first, and sends it all in the end
            cost = {2, bytes_of(p, 1)}, held = 2;
        for (double among = 1; 2 * among <= p; among *= 2, ++cost.messages)
            cost.bytes += bytes_of(std::min(among * held, p), 1);
        return cost;
    }
    const double split = (p - 1) * bytes_of(1, 1 / p);
    const bool dense = algorithm == sparse_algorithm::split_dense;
    const double sums = dense ? (p - 1) / p * 4 * static_cast<double>(load.dimension + load.dense)
                              : (p - 1) * bytes_of(p, 1 / p);
    return {2 * (p - 1), split + sums};
}

} // namespace

std::optional<sparse_algorithm> choose_sparse(std::uint32_t ranks, const sparse_load& load,
                                              const reduce_costs& costs) {
    if (ranks < 2 || load.dimension > std::numeric_limits<std::uint32_t>::max())
        return std::nullopt;
    const double share =
        static_cast<double>(load.numbers) / std::max(static_cast<double>(load.dimension), 1.0);
    const auto union_of = [&](double among) {
        return share > 0 ? (1 - std::pow(1 - share, among)) / share : 0;
    };
    const auto time_of = [&](const sparse_cost& c) {
        return c.messages * costs.between_nodes.latency_ns +
               c.bytes * (costs.between_nodes.byte_ns + costs.add_byte_ns);
    };
    const double others = ranks - 1;
    std::optional<sparse_algorithm> best;
    double least = time_of({others, others * (8 * static_cast<double>(load.numbers) +
                                              4 * static_cast<double>(load.dense))});
    // In this order: of two that take as long the first.
    for (const auto a : {sparse_algorithm::recursive_doubling, sparse_algorithm::split_dense,
                         sparse_algorithm::split_all_gather})
        if (const double time = time_of(cost_of(a, ranks, load, union_of));
            time < least || (!best && time == least)) {
            best = a;
            least = time;
        }
    return best;
}

std::size_t bytes_sent(sparse_algorithm algorithm, std::uint32_t ranks, const sparse_load& load) {
    const auto cost = cost_of(algorithm, ranks, load, [](double among) { return among; });
    return static_cast<std::size_t>(std::ceil(cost.bytes));
}

// ---- one rank -------------------------------------------------------------------------------------------------------

sparse_reduction::sparse_reduction(sparse_algorithm algorithm, std::uint32_t rank,
                                   std::uint32_t ranks, const sparse_vector& own)
    : sends_dense_{algorithm == sparse_algorithm::split_dense}, transfers_{list_transfers(
                                                                    algorithm, rank, ranks)} {
    const std::size_t segments = segments_of(algorithm, ranks);
    for (std::size_t s = 0; s < segments; ++s) {
        segments_.push_back(own.part(elements_of(s, segments, own.dimension)));
        sparse_vector& part = segments_.back();
        if (is_dense_sum(part.values.size(), 0, part.dimension))
            part = sparse_vector::dense(part.all());
    }
    pass_silent();
}

// Steps over transfers that send or take nothing.
void sparse_reduction::pass_silent() {
    while (next_sent_ < transfers_.size() && transfers_[next_sent_].to == nobody)
        ++next_sent_;
    while (next_taken_ < transfers_.size() && transfers_[next_taken_].from == nobody)
        ++next_taken_;
}

const reduce_transfer* sparse_reduction::next_to_send() const {
    if (next_sent_ == transfers_.size())
        return nullptr;
    const reduce_transfer& t = transfers_[next_sent_];
    for (std::size_t i = next_taken_; i < next_sent_; ++i)
        if (transfers_[i].from != nobody && transfers_[i].receives.first == t.sends.first)
            return nullptr; // what it is to send is still to come
    return &t;
}

sparse_vector sparse_reduction::send() {
    const reduce_transfer& t = transfers_[next_sent_++];
    pass_silent();
    const sparse_vector& part = segments_[t.sends.first];
    return sends_dense_ && !t.adds ? sparse_vector::dense(part.all()) : part;
}

const reduce_transfer* sparse_reduction::next_to_take() const {
    return next_taken_ < transfers_.size() ? &transfers_[next_taken_] : nullptr;
}

std::size_t sparse_reduction::elements_to_take() const {
    return segments_[transfers_[next_taken_].receives.first].dimension;
}

result<void> sparse_reduction::take(const sparse_vector& received) {
    const reduce_transfer& t = transfers_[next_taken_];
    TROUPE_CHECK(next_to_send() == nullptr || next_sent_ > next_taken_,
                 "what a transfer sends is sent before what it takes is put in its place");
    sparse_vector& held = segments_[t.receives.first];
    if (received.dimension != held.dimension)
        return error{errc::protocol, "a part of " + std::to_string(received.dimension) +
                                         " numbers where " + std::to_string(held.dimension) +
                                         " are due"};
    held = t.adds ? sum_of(held, received) : received;
    ++next_taken_;
    pass_silent();
    return {};
}

sparse_vector sparse_reduction::sum() const {
    sparse_vector sum = in_a_row(segments_);
    return sends_dense_ ? sparse_vector::dense(sum.all()) : sum;
}

} // namespace troupe
