// The words of a text in UTF-8: its longest runs of letters, with the marks and invisible characters behind a letter, such
// as accents that are not composed and soft hyphens. Everything else separates words: digits, apostrophes and hyphens, too,
// so that "don't" is "don" and "t". Letters and marks are those of Unicode's general categories L and M. Pure.
//
// Two letters are in one word where the default rules of Unicode have no boundary between them, and also where scripts that
// write no blanks meet (Thai, Chinese, Japanese), which takes a dictionary to cut: a word is what their text has between
// blanks and punctuation. Unlike under those rules, apostrophes, full stops, colons, digits and underscores always
// separate. The middle dot of Catalan ("col·lecció") and the gershayim of Hebrew's abbreviations do not.
//
// Threads: values. Source: Unicode Standard Annex 29, Unicode Text Segmentation, section 4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

// The longest word has so many in its composed form; longer runs are passed over and counted.
inline constexpr std::size_t word_characters_max = 250;

// A sentence on so many of them, at least one, that says what to do.
std::string why_too_long(std::uint64_t runs);

class text_words {
  public:
    // `text` must outlive it.
    explicit text_words(std::string_view text) : rest_{text} {}

    // The next word as it is written, a part of the text; none at the end, and where the text is not UTF-8 or has a NUL
    // byte.
    std::optional<std::string_view> next();
    // Why the text ended before its end, and what to do, as a sentence; empty if it did not.
    std::string why_stopped() const;
    // Runs of more than word_characters_max characters so far.
    std::uint64_t too_long() const noexcept { return too_long_; }

  private:
    std::string_view rest_;
    std::uint64_t too_long_ = 0;
};

} // namespace troupe
