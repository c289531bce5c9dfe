// Documents as texts: words are counted as documents.hpp says.
//
// Threads: each object belongs to one thread at a time.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "actors/data/sparse/document_builder.hpp"
#include "actors/data/sparse/word_stems.hpp"

namespace troupe {

// Words to leave out.
class left_out_words {
  public:
    // Errors begin with the key of the file of stop words.
    static result<left_out_words> of(const word_rules& rules);
    // `word`: in lower case.
    bool has(const std::string& word) const;

  private:
    std::unordered_set<std::string> stop_words_;
    std::size_t length_min_ = 1;
};

class text_collector {
  public:
    static result<text_collector> of(const word_rules& rules);

    // Adds the words of a text to the current document. Why it cannot be taken, and what to do, as a sentence; else empty.
    std::string add(std::string_view text);
    // As document_builder::end_document().
    template <class Name>
    std::string end_document(Name name) {
        return builder_.end_document(std::move(name));
    }
    result<documents> finish(const vocabulary_bounds& bounds) &&;

  private:
    struct text_hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept {
            return std::hash<std::string_view>{}(text);
        }
    };
    using word_map = std::unordered_map<std::string, std::uint32_t, text_hash, std::equal_to<>>;

    explicit text_collector(left_out_words left_out) : left_out_{std::move(left_out)} {}
    std::uint32_t number_of(std::string_view word);

    left_out_words left_out_;
    std::optional<word_stems> stems_;
    word_map numbers_; // of words as they are in texts
    word_map kept_;    // of words that are kept: the same, or stems
    document_builder builder_;
};

// Reads a file, each line of which is a document.
result<documents> read_line_documents(const std::string& path, const word_rules& rules,
                                      const vocabulary_bounds& bounds);
// Reads the files of a folder, each of which is a document.
result<documents> read_folder_documents(const std::string& path, const word_rules& rules,
                                        const vocabulary_bounds& bounds);

} // namespace troupe
