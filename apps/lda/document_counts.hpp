// How many tokens of each topic documents have: of each document a count for every topic. For few topics: a draw reads all
// of them, but looks for none.
//
//     auto counts = document_counts::make(memory, sizes, 100);   // tokens of each document; topics
//     counts->add(3, 17);
//
// Memory of the pool: 2 bytes for each document and topic, 4 where a document has more than 65,535 tokens. Threads: one at a
// time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "apps/lda/exact_loops.hpp"
#include "kernels/tensor/tensor.hpp"
#include "schemas/base/error.hpp"

namespace troupe::lda {

// Whether counts of topics in documents of these sizes need more than 16 bits.
inline bool needs_wide_counts(std::span<const std::uint32_t> sizes) {
    return std::ranges::any_of(sizes, [](std::uint32_t size) { return size > UINT16_MAX; });
}

class document_counts {
  public:
    // `sizes`: tokens of each document. None are counted yet.
    static result<document_counts> make(memory_pool& memory, std::span<const std::uint32_t> sizes,
                                        std::uint32_t topics);

    std::size_t documents() const noexcept { return left_.size(); }
    std::int32_t count(std::size_t document, std::uint32_t topic) const noexcept {
        const std::uint64_t at = document * stride_ + topic;
        return wide_ != nullptr ? wide_[at] : narrow_[at];
    }
    // Calls visit(tokens) for each topic that the document has.
    template <class Visit>
    void each_count(std::size_t document, Visit visit) const {
        const auto each = [&](const auto* counts) {
            constexpr std::size_t together = 8; // most are 0
            for (std::size_t k = 0; k < stride_; k += together) {
                std::remove_cvref_t<decltype(*counts)> any = 0;
                for (std::size_t i = k; i < k + together; ++i)
                    any |= counts[i];
                for (std::size_t i = k; any != 0 && i < k + together; ++i)
                    if (counts[i] != 0)
                        visit(static_cast<std::int32_t>(counts[i]));
            }
        };
        if (wide_ != nullptr)
            each(wide_ + document * stride_);
        else
            each(narrow_ + document * stride_);
    }
    // One more token. False, and nothing changes, if all tokens of the document are counted.
    bool add(std::size_t document, std::uint32_t topic) noexcept;

    void clear() noexcept; // no token is counted

    // Draws tokens by these loops (exact_loops.hpp).
    std::size_t draw(const exact_loops& loops, word_view& word, const token_view& tokens,
                     std::size_t first, std::size_t last, const std::uint64_t* random) noexcept {
        return wide_ != nullptr
                   ? loops.dense_32(word, tokens, first, last, random, {wide_, stride_})
                   : loops.dense_16(word, tokens, first, last, random, {narrow_, stride_});
    }

  private:
    std::size_t stride_ = 0;
    std::vector<std::uint32_t> sizes_, left_; // tokens of each document; those that are not counted
    tensor memory_;
    std::uint16_t* narrow_ = nullptr; // one of these two
    std::int32_t* wide_ = nullptr;
};

} // namespace troupe::lda
