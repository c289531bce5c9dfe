// Documents as texts: words are counted as documents.hpp says.
//
// Threads: each object belongs to one thread at a time.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "actors/data/sparse/document_builder.hpp"
#include "actors/data/sparse/word_forms.hpp"
#include "actors/data/sparse/word_stems.hpp"

namespace troupe {

// Words to leave out.
class left_out_words {
  public:
    // Errors begin with the key of the file of stop words.
    static result<left_out_words> of(const word_rules& rules);
    // `word`: in lower case (word_forms.hpp).
    bool has(const std::string& word) const;

  private:
    std::unordered_set<std::string> stop_words_; // folded
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
    // A word, or stem, in lower case. Spellings that fold to the same are one word, which has a number.
    struct spelling {
        std::uint32_t number = 0;
        std::uint64_t tokens = 0;
    };
    // A word as it is in texts.
    struct written_word {
        spelling* shown = nullptr; // null: left out
        std::uint32_t number = 0;
        std::uint64_t tokens = 0;
    };
    template <class Value>
    using word_map = std::unordered_map<std::string, Value, text_hash, std::equal_to<>>;

    text_collector(left_out_words left_out, casing cases)
        : left_out_{std::move(left_out)}, cases_{cases} {}
    written_word& entry_of(std::string_view written);
    std::vector<std::string> take_names();

    left_out_words left_out_;
    casing cases_;
    std::optional<word_stems> stems_;
    word_map<written_word> written_;
    word_map<spelling> spellings_;
    word_map<std::uint32_t> numbers_; // of folded spellings
    std::uint64_t too_long_ = 0;      // runs of letters that are no words
    document_builder builder_;
};

// Reads a file, each line of which is a document.
result<documents> read_line_documents(const std::string& path, const word_rules& rules,
                                      const vocabulary_bounds& bounds);
// Reads the files of a folder, each of which is a document.
result<documents> read_folder_documents(const std::string& path, const word_rules& rules,
                                        const vocabulary_bounds& bounds);

} // namespace troupe
