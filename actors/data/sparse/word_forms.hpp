// Forms of a word in which it is counted and shown, by Unicode's tables (libutf8proc). What is not UTF-8 stays as it is.
// Pure.
//
// Source: The Unicode Standard, section 3.13, Default Case Algorithms; Unicode Standard Annex 15, Normalization Forms.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe {

// How letters become lower case: in Turkish I becomes ı, and İ becomes i.
enum class casing { common, turkish };

// The word in lower case, composed (NFC), without what is invisible, such as soft hyphens: equal for words that differ in
// these alone. A capital sigma at the end of a word becomes ς.
std::string lower_case_of(std::string_view word, casing cases = casing::common);

// By what a word in lower case is told from others: case folding makes one of σ and ς, of ß and ss. Not for people's eyes.
std::string folded(std::string_view word);

// Characters of a word, without marks on others.
std::size_t letters_in(std::string_view word) noexcept;

} // namespace troupe
