// The topics of a worker's tokens in the order of documents: what a document's tokens have is in one place, from which one
// of them is drawn, and those of a topic are counted.
//
//     auto order = document_order::make(memory, tokens, 1000);
//     order->set(document, order->place(token), topic);          // a token by its number in word_tokens
//     order->count(document, first, second);
//
// A document that has at least as many tokens as there are topics keeps the counts of all of them. In a shorter one its
// tokens are compared, 8 at a time; for that documents begin at multiples of 8 places.
//
// Memory of the pool: 6 bytes a token and 7 a document, and up to 4 bytes more for each token of those with counts.
// Threads: one at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "apps/lda/likelihood.hpp"
#include "apps/lda/word_tokens.hpp"
#include "kernels/tensor/tensor.hpp"
#include "schemas/base/error.hpp"

namespace troupe::lda {

class document_order {
  public:
    // errc::exhausted where the pool has no room, errc::usage for more than 2^32 places. Topics are no_topic.
    static result<document_order> make(memory_pool& memory, const word_tokens& tokens,
                                       std::uint32_t topics);

    // Topics of the tokens of a document, in no order that means anything.
    std::span<const std::uint16_t> of(std::size_t document) const noexcept {
        return {topics_ + documents_[document].start, documents_[document].size};
    }
    // Where the document begins, and where a token of word_tokens is, among all places.
    std::uint64_t start(std::size_t document) const noexcept { return documents_[document].start; }
    std::uint32_t place(std::uint64_t token) const noexcept { return places_[token]; }
    std::uint16_t topic(std::uint64_t place) const noexcept { return topics_[place]; }
    // The token at this place of the document has this topic now; it may be no_topic.
    void set(std::size_t document, std::uint64_t place, std::uint32_t topic) noexcept {
        std::uint16_t& own = topics_[place];
        if (std::int32_t* const counts = counts_of(documents_[document])) {
            if (own != no_topic)
                --counts[own];
            if (topic != no_topic)
                ++counts[topic];
        }
        own = static_cast<std::uint16_t>(topic);
    }

    struct two_counts {
        std::uint32_t first = 0, second = 0;
    };
    // Tokens of a document that have these topics. Takes time in proportion to the document if that has no counts.
    two_counts count(std::size_t document, std::uint32_t first,
                     std::uint32_t second) const noexcept {
        const extent& e = documents_[document];
        if (const std::int32_t* const counts = counts_of(e))
            return {static_cast<std::uint32_t>(counts[first]),
                    static_cast<std::uint32_t>(counts[second])};
        return compare(e, static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(second));
    }

    // They bring what a document's tokens need nearer, the one after the other: of the places and the topics that will be
    // looked at. A compiler that does not inline them takes them for functions without effect, and drops the calls.
    [[gnu::always_inline]] inline void prefetch_start(std::size_t document) const noexcept {
        __builtin_prefetch(&documents_[document]);
    }
    struct look {
        std::uint64_t own, other; // places
        std::uint32_t first, second;
    };
    [[gnu::always_inline]] inline void prefetch(std::size_t document,
                                                const look& at) const noexcept {
        const extent& e = documents_[document];
        if (const std::int32_t* const counts = counts_of(e)) {
            __builtin_prefetch(topics_ + at.own, 1);
            __builtin_prefetch(topics_ + at.other);
            __builtin_prefetch(counts + at.first, 1);
            __builtin_prefetch(counts + at.second, 1);
            return;
        }
        for (std::uint32_t i = 0; i < std::min<std::uint32_t>(e.size, 256); i += 32)
            __builtin_prefetch(topics_ + e.start + i, 1);
    }

    // The documents' part of the likelihood (likelihood.hpp); tokens without a topic do not count.
    double likelihood(std::uint32_t topics, const log_gamma_ratio& alpha,
                      const log_gamma_ratio& alpha_topics) const;

  private:
    struct extent {
        std::uint64_t start = 0;
        std::uint32_t size = 0;              // tokens
        std::uint32_t counted = not_counted; // number among the documents with counts
    };
    static constexpr std::uint32_t not_counted = UINT32_MAX;

    std::int32_t* counts_of(const extent& e) const noexcept {
        return e.counted == not_counted ? nullptr : counts_ + std::size_t{e.counted} * all_topics_;
    }
    two_counts compare(const extent& e, std::uint16_t first, std::uint16_t second) const noexcept;

    std::vector<extent> documents_;
    std::uint32_t all_topics_ = 0;
    tensor places_memory_, topics_memory_, counts_memory_;
    std::uint32_t* places_ = nullptr;
    std::uint16_t* topics_ = nullptr;
    std::int32_t* counts_ = nullptr;
};

} // namespace troupe::lda
