// The tokens of a worker's documents, by word: where each of them is, and its topic.
//
//     token_builder builder{memory, rows, words};
//     builder.append(piece);                                     // until all rows are there
//     auto tokens = builder.finish();
//     for (const std::uint32_t d : tokens->of(word).documents) ...
//
// A count n of a word in a document is n tokens. Memory of the pool: 6 bytes a token; the pieces are held until finish.
// Threads: one at a time. Errors: errc::data for values that are no counts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "actors/data/matrix/data_rule.hpp"
#include "actors/scheduled/data_pieces.hpp"
#include "kernels/tensor/tensor.hpp"
#include "schemas/base/error.hpp"

namespace troupe::lda {

// The topic of a token that has none yet.
inline constexpr std::uint16_t no_topic = 0xffff;

// For a saved state that is of another sweep than the turn.
inline error token_without_topic() {
    return {errc::protocol, "a token has no topic after the first sweep; the saved state is "
                            "damaged, start the run without it"};
}
inline error token_with_topic() {
    return {errc::protocol, "a token has a topic before the first sweep; the saved state is "
                            "damaged, start the run without it"};
}

struct tokens_of_word {
    std::span<const std::int32_t> documents; // of each token, rising
    std::span<std::uint16_t> topics;         // of each token
    std::uint64_t first = 0;                 // number of the first one, among those of all words
};

class word_tokens {
  public:
    std::size_t words() const noexcept { return starts_.size() - 1; }
    std::uint64_t tokens() const noexcept { return starts_.back(); }
    std::span<const std::uint32_t> sizes() const noexcept { return sizes_; } // of documents
    tokens_of_word of(std::size_t word) noexcept {
        const std::size_t first = starts_[word], count = starts_[word + 1] - first;
        return {documents_.values<std::int32_t>().subspan(first, count),
                topics().subspan(first, count), first};
    }
    std::span<std::uint16_t> topics() noexcept {
        return {reinterpret_cast<std::uint16_t*>(topics_.mutable_data()), starts_.back()};
    }
    std::span<const std::uint16_t> topics() const noexcept {
        return {reinterpret_cast<const std::uint16_t*>(topics_.data()), starts_.back()};
    }
    std::span<const std::int32_t> documents() const { return documents_.values<std::int32_t>(); }

  private:
    friend class token_builder;

    std::vector<std::uint64_t> starts_; // of the tokens of each word, and where they end
    std::vector<std::uint32_t> sizes_;
    tensor documents_, topics_; // int32; two bytes each
};

// Values of documents are counts.
class count_rule final : public data_rule {
  public:
    result<void> take_values(std::span<const double> values) override;
};

class token_builder {
  public:
    token_builder(memory_pool& memory, std::uint64_t documents, std::uint64_t words)
        : memory_{memory}, documents_{documents}, words_{words} {}

    result<void> append(const scheduled::payload& piece);
    // Once. All topics are no_topic.
    result<word_tokens> finish();

  private:
    template <class Visit>
    void each_entry(Visit visit) const;

    memory_pool& memory_;
    std::uint64_t documents_, words_;
    std::vector<scheduled::payload> pieces_;
    std::vector<std::uint32_t> sizes_;
    std::vector<std::uint64_t> counts_; // tokens of each word
};

} // namespace troupe::lda
