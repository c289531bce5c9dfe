// The forms in which a word is counted and shown, by Unicode's tables (libutf8proc). A text that is not UTF-8 stays as it
// is. Pure.
//
// Source: The Unicode Standard, section 3.13, Default Case Algorithms; Unicode Standard Annex 15, Normalization Forms.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe {

// The rule by which letters become lower case: in Turkish I becomes ı; İ becomes i in both.
enum class casing { common, turkish };

// The word in lower case, composed (NFC), without what is invisible, such as soft hyphens: equal for words that differ in
// these alone. A capital sigma at the end of a word becomes ς.
std::string lower_case_of(std::string_view word, casing cases = casing::common);

// The number of characters of a word that is composed, without what is invisible.
std::size_t composed_characters(std::string_view word);

// The form by which words in lower case are told apart: case folding makes one of σ and ς, of ß and ss. It is not shown.
std::string folded(std::string_view word);

// The number of characters of a word, without marks.
std::size_t letters_in(std::string_view word) noexcept;

} // namespace troupe
