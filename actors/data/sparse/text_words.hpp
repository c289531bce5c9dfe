// The words of a text in UTF-8: its longest runs of letters, in lower case. Everything else separates words: digits,
// apostrophes and hyphens, too, so that "don't" is "don" and "t". Pure.
//
// Letters are those of ASCII, Latin, Greek and Cyrillic, combining marks, and of other scripts whatever is in no block of
// digits, punctuation or symbols; scripts that write no blanks give long words. Upper case becomes lower case in ASCII,
// Latin, Greek, Cyrillic and Armenian, each code point for itself: texts should be composed (NFC). A run of more than
// word_bytes_max bytes is no word of a language and is passed over.
//
// Threads: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

inline constexpr std::size_t word_bytes_max = 100;

class text_words {
  public:
    // `text` must outlive it.
    explicit text_words(std::string_view text) : rest_{text} {}

    // The next word, valid until the next call; none at the end, and where the text is not UTF-8.
    std::optional<std::string_view> next();
    // Why the text ended before its end, and what to do, as a sentence; empty if it did not.
    std::string why_stopped() const;

  private:
    std::string_view rest_;
    std::string word_;
};

// The text in lower case, as above; what is not UTF-8 stays as it is.
std::string lower_case(std::string_view text);

// Code points of a word.
std::size_t letters_in(std::string_view word) noexcept;

} // namespace troupe
