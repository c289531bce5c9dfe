#include "actors/collective/sparse_reduce.hpp"

#include <algorithm>
#include <string>
#include <utility>

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

std::size_t sparse_vector::bytes(const sparse_values& how) const noexcept {
    return is_dense() ? how.bytes(dimension) : how.payload_bytes(values.size());
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

// A missing number of either vector counts as 0: a + b and b + a have the same bits, also where one is -0.
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

sparse_vector concatenated(std::span<const sparse_vector> parts) {
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

// ---- transfers ------------------------------------------------------------------------------------------------------

namespace {

// The dense all-reduce that has the same rounds, if there is one.
std::optional<proto::AllReduceAlgorithm> dense_rounds(sparse_algorithm algorithm) {
    switch (algorithm) {
    case sparse_algorithm::recursive_doubling:
        return proto::AllReduceAlgorithm::RECURSIVE_DOUBLING;
    case sparse_algorithm::halving_doubling:
        return proto::AllReduceAlgorithm::HALVING_DOUBLING;
    case sparse_algorithm::split_all_gather:
    case sparse_algorithm::split_dense:
        break;
    }
    return std::nullopt;
}

} // namespace

std::size_t segments_of(sparse_algorithm algorithm, std::uint32_t ranks) {
    const auto dense = dense_rounds(algorithm);
    return dense ? segments_of(*dense, rank_nodes{ranks}) : ranks;
}

std::vector<reduce_transfer> list_transfers(sparse_algorithm algorithm, std::uint32_t rank,
                                            std::uint32_t ranks) {
    if (const auto dense = dense_rounds(algorithm))
        return list_transfers(*dense, rank, rank_nodes{ranks});
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
    case sparse_algorithm::halving_doubling:
        return "halving doubling";
    case sparse_algorithm::split_dense:
        break;
    }
    return "split all-gather, dense";
}

// ---- one rank -------------------------------------------------------------------------------------------------------

namespace {

bool overlap(index_range a, index_range b) {
    return a.first < b.first + b.count && b.first < a.first + a.count;
}

} // namespace

sparse_reduction::sparse_reduction(sparse_algorithm algorithm, std::uint32_t rank,
                                   std::uint32_t ranks, const sparse_vector& own, bool rounds)
    : sends_dense_{algorithm == sparse_algorithm::split_dense}, transfers_{list_transfers(
                                                                    algorithm, rank, ranks)} {
    const std::size_t segments = segments_of(algorithm, ranks);
    for (std::size_t s = 0; s < segments; ++s) {
        segments_.push_back(own.part(elements_of(s, segments, own.dimension)));
        sparse_vector& part = segments_.back();
        if (is_dense_sum(part.values.size(), 0, part.dimension))
            part = sparse_vector::dense(part.all());
    }
    for (std::size_t i = 0; i < transfers_.size(); ++i)
        if (transfers_[i].adds)
            additions_end_ = i + 1;
    TROUPE_CHECK(!rounds || algorithm != sparse_algorithm::recursive_doubling,
                 "sums are rounded by the one rank that makes them");
    if (rounds && additions_end_ > 0)
        unrounded_ = transfers_[additions_end_ - 1].receives.first;
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
        if (transfers_[i].from != nobody && overlap(transfers_[i].receives, t.sends))
            return nullptr; // a segment that it sends has yet to arrive
    return &t;
}

std::vector<sparse_vector> sparse_reduction::send() {
    TROUPE_CHECK(to_round() == nullptr, "a sum is rounded before anything more is sent");
    const index_range part = transfers_[next_sent_++].sends;
    pass_silent();
    const auto first = segments_.begin() + static_cast<std::ptrdiff_t>(part.first);
    return {first, first + static_cast<std::ptrdiff_t>(part.count)};
}

const reduce_transfer* sparse_reduction::next_to_take() const {
    return next_taken_ < transfers_.size() ? &transfers_[next_taken_] : nullptr;
}

std::size_t sparse_reduction::elements_to_take(std::size_t segment) const {
    return segments_[transfers_[next_taken_].receives.first + segment].dimension;
}

result<void> sparse_reduction::accept(std::vector<sparse_vector> received) {
    const reduce_transfer& t = transfers_[next_taken_];
    TROUPE_CHECK(next_to_send() == nullptr || next_sent_ > next_taken_,
                 "what a transfer sends is sent before what it takes is put in its place");
    TROUPE_CHECK(received.size() == t.receives.count, "a part is one vector for each segment");
    for (std::size_t i = 0; i < received.size(); ++i)
        if (received[i].dimension != elements_to_take(i))
            return error{errc::protocol, "a part of " + std::to_string(received[i].dimension) +
                                             " numbers where " +
                                             std::to_string(elements_to_take(i)) + " are due"};
    ++next_taken_;
    for (std::size_t i = 0; i < received.size(); ++i) {
        sparse_vector& held = segments_[t.receives.first + i];
        held = t.adds ? sum_of(held, received[i]) : std::move(received[i]);
        if (sends_dense_ && next_taken_ == additions_end_)
            held = sparse_vector::dense(held.all());
    }
    pass_silent();
    return {};
}

const sparse_vector* sparse_reduction::to_round() const {
    return unrounded_ && next_taken_ >= additions_end_ ? &segments_[*unrounded_] : nullptr;
}

void sparse_reduction::round_to(sparse_vector rounded) {
    TROUPE_CHECK(to_round() != nullptr && rounded.dimension == to_round()->dimension,
                 "what is rounded is the sum that this rank has made");
    segments_[*std::exchange(unrounded_, std::nullopt)] = std::move(rounded);
}

sparse_vector sparse_reduction::sum() const {
    sparse_vector sum = concatenated(segments_);
    return sends_dense_ ? sparse_vector::dense(sum.all()) : sum;
}

} // namespace troupe
