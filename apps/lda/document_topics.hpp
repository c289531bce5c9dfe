// How many tokens of each topic documents have: of each document a list of the topics that it has, in no order, since there
// are few.
//
//     auto counts = document_topics::make(memory, sizes, 1000);  // tokens of each document; topics
//     counts->add(3, 17);
//     for (std::size_t i = 0; i < counts->length(3); ++i)
//         ... counts->topic(3, i), counts->tokens(3, i) ...
//
// The order of a document's topics decides which topic a random number stands for, so it is part of what is saved.
//
// Memory of the pool: 4 bytes for each topic that a document can have, which are as many as it has tokens, or all topics; 6
// where a document has more than 65,535 tokens. Threads: one at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "apps/lda/exact_loops.hpp"
#include "kernels/tensor/tensor.hpp"
#include "schemas/base/error.hpp"

namespace troupe::lda {

class document_topics {
  public:
    // `sizes`: tokens of each document. None are counted yet.
    static result<document_topics> make(memory_pool& memory, std::span<const std::uint32_t> sizes,
                                        std::uint32_t topics);

    std::size_t documents() const noexcept { return places_.size(); }
    // The topics of a document, and how many of its tokens have each, which are at least 1.
    std::size_t length(std::size_t document) const noexcept { return places_[document].length; }
    std::uint32_t topic(std::size_t document, std::size_t i) const noexcept {
        const std::size_t in_block = i % block_places;
        return wide_ != nullptr ? at(wide_, document, i).topics[in_block]
                                : at(narrow_, document, i).topics[in_block];
    }
    std::int32_t tokens(std::size_t document, std::size_t i) const noexcept {
        const std::size_t in_block = i % block_places;
        return wide_ != nullptr ? at(wide_, document, i).counts[in_block]
                                : at(narrow_, document, i).counts[in_block];
    }
    // Calls visit(tokens) for each of them.
    template <class Visit>
    void each_count(std::size_t document, Visit visit) const {
        for (std::size_t i = 0; i < length(document); ++i)
            visit(tokens(document, i));
    }
    std::int32_t count(std::size_t document, std::uint32_t topic) const noexcept;
    // One more token. False, and nothing changes, if the document has no room for another topic, as all of its tokens are
    // counted.
    bool add(std::size_t document, std::uint32_t topic) noexcept;

    // Draws tokens by these loops (exact_loops.hpp).
    std::size_t draw(const exact_loops& loops, word_view& word, const token_view& tokens,
                     std::size_t first, std::size_t last, const std::uint64_t* random) noexcept {
        return wide_ != nullptr
                   ? loops.listed_32(word, tokens, first, last, random, {places_.data(), wide_})
                   : loops.listed_16(word, tokens, first, last, random, {places_.data(), narrow_});
    }

    // ---- as they are saved: how many topics each document has, and which ----
    std::vector<std::int32_t> lengths() const;
    std::vector<std::uint16_t> order() const;
    // Instead of what is counted; to be followed by count_again for each token, and then is_complete tells whether they fit.
    result<void> load(std::span<const std::int32_t> lengths, std::span<const std::uint16_t> order,
                      std::uint32_t topics);
    // False if the document has no such topic.
    bool count_again(std::size_t document, std::uint32_t topic) noexcept;
    bool is_complete() const noexcept; // no count is 0

  private:
    template <class Function>
    auto by_blocks(Function f) const {
        return wide_ != nullptr ? f(wide_) : f(narrow_);
    }
    // The block of the i-th topic of a document.
    template <class Count>
    list_block<Count>& at(list_block<Count>* blocks, std::size_t document,
                          std::size_t i) const noexcept {
        return blocks[places_[document].start + i / block_places];
    }
    void clear() noexcept;
    // The topic's place in the list of the document, or the list's length.
    std::size_t find(std::size_t document, std::uint32_t topic) const noexcept;
    void set(std::size_t document, std::size_t i, std::uint32_t topic) noexcept;
    void count_one(std::size_t document, std::size_t i) noexcept;

    std::vector<list_place> places_;
    std::uint32_t topics_ = 0;
    std::uint64_t blocks_ = 0;
    tensor memory_;
    list_block<std::uint16_t>* narrow_ = nullptr; // one of these two
    list_block<std::int32_t>* wide_ = nullptr;
};

} // namespace troupe::lda
