// The topics of a worker's tokens in the order of documents: what a document's tokens have is in one place, from which one
// of them is drawn, and those of a topic are counted.
//
//     auto order = document_order::make(memory, tokens);
//     order->set(order->place(token), topic);                    // a token by its number in word_tokens
//     order->count(document, topic);
//
// Documents begin at multiples of 8 places, so that their topics are compared 8 at a time.
//
// Memory of the pool: 6 bytes a token, and 7 a document. Threads: one at a time.
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
    // errc::exhausted also for more than 2^32 places. Topics are no_topic.
    static result<document_order> make(memory_pool& memory, const word_tokens& tokens);

    // Of the tokens of a document, in no order that means anything.
    std::span<const std::uint16_t> of(std::size_t document) const noexcept {
        return {topics_ + documents_[document].start, documents_[document].size};
    }
    // Where the document begins, and where a token of word_tokens is, among all places.
    std::uint64_t start(std::size_t document) const noexcept { return documents_[document].start; }
    std::uint32_t place(std::uint64_t token) const noexcept { return places_[token]; }
    std::uint16_t topic(std::uint64_t place) const noexcept { return topics_[place]; }
    void set(std::uint64_t place, std::uint32_t topic) noexcept {
        topics_[place] = static_cast<std::uint16_t>(topic);
    }

    struct two_counts {
        std::uint32_t first = 0, second = 0;
    };
    // Tokens of a document that have these topics. Takes time in proportion to the document.
    two_counts count(std::size_t document, std::uint32_t first,
                     std::uint32_t second) const noexcept;

    // They bring what a document's tokens need nearer, the one after the other.
    void prefetch_start(std::size_t document) const noexcept {
        __builtin_prefetch(&documents_[document]);
    }
    void prefetch(std::size_t document) const noexcept {
        const std::span<const std::uint16_t> own = of(document);
        for (std::size_t i = 0; i < std::min<std::size_t>(own.size(), 256); i += 32)
            __builtin_prefetch(own.data() + i, 1);
    }

    // The documents' part of the likelihood (likelihood.hpp); tokens without a topic do not count.
    double likelihood(std::uint32_t topics, const log_gamma_ratio& alpha,
                      const log_gamma_ratio& alpha_topics) const;

  private:
    struct extent {
        std::uint64_t start = 0;
        std::uint32_t size = 0; // tokens
    };

    std::vector<extent> documents_;
    tensor places_memory_, topics_memory_;
    std::uint32_t* places_ = nullptr;
    std::uint16_t* topics_ = nullptr;
};

} // namespace troupe::lda
