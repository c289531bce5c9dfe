#include "apps/lda/document_order.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace troupe::lda {

namespace {

constexpr std::size_t lanes = 8, stretch = lanes << 15;
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

result<document_order> document_order::make(memory_pool& memory, const word_tokens& tokens) {
    document_order made;
    std::uint64_t count = 0;
    for (const std::uint32_t size : tokens.sizes()) {
        made.documents_.push_back({count, size});
        count += (size + std::uint64_t{lanes} - 1) / lanes * lanes;
    }
    if (count > UINT32_MAX)
        return error{errc::exhausted, "a worker has " + std::to_string(tokens.tokens()) +
                                          " tokens, but sampler: metropolis takes at most 4 "
                                          "billion; use more workers"};
    auto places = tensor::allocate(memory, data_type::int32, {tokens.tokens()});
    auto topics = tensor::allocate(memory, data_type::uint8, {2 * count});
    if (const error* failure = scheduled::first_failure(places, topics))
        return *failure;
    made.places_memory_ = std::move(*places);
    made.topics_memory_ = std::move(*topics);
    made.places_ = reinterpret_cast<std::uint32_t*>(made.places_memory_.mutable_data());
    made.topics_ = reinterpret_cast<std::uint16_t*>(made.topics_memory_.mutable_data());
    std::vector<std::uint64_t> next;
    for (const extent& e : made.documents_)
        next.push_back(e.start);
    for (std::uint64_t i = 0; i < tokens.tokens(); ++i)
        made.places_[i] =
            static_cast<std::uint32_t>(next[static_cast<std::size_t>(tokens.documents()[i])]++);
    std::fill_n(made.topics_, count, no_topic);
    return made;
}

document_order::two_counts document_order::count(std::size_t document, std::uint32_t first,
                                                 std::uint32_t second) const noexcept {
    const extent e = documents_[document];
    const auto a = static_cast<std::uint16_t>(first), b = static_cast<std::uint16_t>(second);
    const std::uint16_t *at = topics_ + e.start, *const all = at + e.size;
    two_counts counts;
    while (at < all) {
        // Lanes cannot overflow in a stretch. What is behind the document's last token has no topic.
        const std::uint16_t* const end = std::min(all, at + stretch);
        topic_lanes of_a{}, of_b{};
        for (; at < end; at += lanes) {
            topic_lanes own;
            std::memcpy(&own, at, sizeof own);
            of_a -= static_cast<topic_lanes>(own == a);
            of_b -= static_cast<topic_lanes>(own == b);
        }
        counts.first += sum(of_a);
        counts.second += sum(of_b);
    }
    return counts;
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
