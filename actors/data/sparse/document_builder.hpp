// Counts of words, document after document, and the choice of the words that are kept.
//
// Threads: each object belongs to one thread at a time. Errors: as in documents.hpp, without place and key.
#pragma once

#include <functional>
#include <limits>
#include <optional>

#include "actors/data/sparse/documents.hpp"

namespace troupe {

// How often a word may be in a document: numbers up to it are exact in float32.
inline constexpr std::uint64_t word_count_max = 1ull << std::numeric_limits<float>::digits;

class document_builder {
  public:
    // Adds to the count of a word of the current document; words are numbered from 0 without gaps, as the caller likes.
    void add(std::uint32_t word, std::uint64_t count) { open_.push_back({word, count}); }
    // Ends the document of this name, or number in its file, from 1; all documents of one builder have names or numbers.
    // Why it cannot be taken, and what to do, as a sentence; empty if it can.
    std::string end_document(std::string name);
    std::string end_document(std::uint64_t number);
    // Some documents were passed over that have no words.
    void pass_over(std::uint64_t documents) { passed_over_ += documents; }
    std::uint64_t documents_read() const noexcept { return all_.counts.rows() + passed_over_; }

    struct word_list {
        std::vector<std::string> names; // of each word that was counted
        // The order of words in the result; those of a lower number come first, of equal ones those of the lesser name.
        std::vector<std::uint64_t> numbers; // one a word, or none
        // Whether the bounds may keep a word of this name. Not given: all.
        std::function<bool(const std::string&)> is_kept;
    };
    // Leaves out words, then documents without words. An error if nothing is left.
    result<documents> finish(word_list words, const vocabulary_bounds& bounds) &&;

  private:
    struct counted_word {
        std::uint32_t word;
        std::uint64_t count;
    };
    struct word_use {
        std::uint64_t documents = 0;
        std::uint64_t count = 0;
    };

    std::string close_document();
    std::vector<word_use> uses() const;
    std::vector<std::uint32_t> chosen(const word_list& words,
                                      const vocabulary_bounds& bounds) const;
    void renumber(const std::vector<std::uint32_t>& kept, std::size_t words);
    void drop_empty_documents();

    std::vector<counted_word> open_; // of the current document
    documents all_;
    std::uint64_t passed_over_ = 0;
};

} // namespace troupe
