#include "apps/lda/document_order.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace troupe::lda {

namespace {

constexpr std::size_t lanes = 8;
// A comparison of lanes is -1 where it holds.
using topic_lanes [[gnu::vector_size(2 * lanes)]] = std::uint16_t;

std::uint32_t sum(const topic_lanes& l) noexcept {
    std::uint64_t words[2];
    std::memcpy(words, &l, sizeof words);
    constexpr std::uint64_t even = 0x0000ffff0000ffff;
    std::uint64_t s = 0;
    for (const std::uint64_t word : words)
        s += (word & even) + (word >> 16 & even);
    return static_cast<std::uint32_t>(s) + static_cast<std::uint32_t>(s >> 32);
}

} // namespace

result<document_order> document_order::make(memory_pool& memory, const word_tokens& tokens,
                                            std::uint32_t topics) {
    document_order made;
    made.all_topics_ = topics;
    std::uint64_t count = 0;
    std::uint32_t counted = 0;
    for (const std::uint32_t size : tokens.sizes()) {
        made.documents_.push_back({count, size, size >= topics ? counted++ : not_counted});
        count += (size + std::uint64_t{lanes} - 1) / lanes * lanes;
    }
    if (count > UINT32_MAX)
        return error{errc::usage, "a worker has " + std::to_string(tokens.tokens()) +
                                      " tokens, but sampler: metropolis takes at most 4 "
                                      "billion; use more workers"};
    auto places = tensor::allocate(memory, data_type::int32, {tokens.tokens()});
    auto own = tensor::allocate(memory, data_type::uint8, {2 * count});
    auto counts = tensor::allocate(memory, data_type::int32, {std::uint64_t{counted} * topics});
    if (const error* failure = scheduled::first_failure(places, own, counts))
        return *failure;
    made.places_memory_ = std::move(*places);
    made.topics_memory_ = std::move(*own);
    made.counts_memory_ = std::move(*counts);
    made.places_ = reinterpret_cast<std::uint32_t*>(made.places_memory_.mutable_data());
    made.topics_ = reinterpret_cast<std::uint16_t*>(made.topics_memory_.mutable_data());
    made.counts_ = reinterpret_cast<std::int32_t*>(made.counts_memory_.mutable_data());
    std::vector<std::uint64_t> next;
    for (const extent& e : made.documents_)
        next.push_back(e.start);
    for (std::uint64_t i = 0; i < tokens.tokens(); ++i)
        made.places_[i] =
            static_cast<std::uint32_t>(next[static_cast<std::size_t>(tokens.documents()[i])]++);
    std::fill_n(made.topics_, count, no_topic);
    std::fill_n(made.counts_, std::size_t{counted} * topics, 0);
    return made;
}

document_order::two_counts document_order::compare(const extent& e, std::uint16_t first,
                                                   std::uint16_t second) const noexcept {
    // Lanes cannot overflow: there are fewer tokens than topics. What is behind the last one has no topic.
    const std::uint16_t *at = topics_ + e.start, *const end = at + e.size;
    topic_lanes firsts{}, seconds{};
    for (; at < end; at += lanes) {
        topic_lanes own;
        std::memcpy(&own, at, sizeof own);
        firsts -= static_cast<topic_lanes>(own == first);
        seconds -= static_cast<topic_lanes>(own == second);
    }
    return {sum(firsts), sum(seconds)};
}

double document_order::likelihood(std::uint32_t topics, const log_gamma_ratio& alpha,
                                  const log_gamma_ratio& alpha_topics) const {
    std::vector<std::int32_t> counts(topics);
    double sum = 0;
    for (std::size_t d = 0; d < documents_.size(); ++d) {
        const std::span<const std::uint16_t> own = of(d);
        double part = -alpha_topics(std::ssize(own));
        for (const std::uint16_t topic : own)
            if (topic != no_topic)
                ++counts[topic];
        for (const std::uint16_t topic : own)
            if (topic != no_topic && counts[topic] > 0) {
                part += alpha(counts[topic]);
                counts[topic] = 0;
            }
        sum += part;
    }
    return sum;
}

} // namespace troupe::lda
