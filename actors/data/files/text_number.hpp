// Numbers in text files. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

// The text without blanks and tabs around it.
std::string_view trimmed(std::string_view text) noexcept;

// The text with the letters of ASCII in lower case.
std::string lower_case(std::string_view text);

// Takes the first word from the text, which blanks and tabs end, and those around it.
std::string_view take_word(std::string_view& text) noexcept;

// The beginning of a text from outside, between quotation marks, fit for an error.
std::string quoted(std::string_view text);

// Decimal digits and nothing else; none if there are others, or more than uint64 holds.
std::optional<std::uint64_t> whole_number(std::string_view text) noexcept;

// A finite decimal number, such as -1, +0.5 or 1e-3, rounded to float64; none if the text is anything else, or more than
// that. Numbers too small for it are 0.
std::optional<double> text_number(std::string_view text);

// Likewise, but none if it is too large for float32.
std::optional<double> text_in_float_range(std::string_view text);

// Likewise, rounded once more to float32, as numpy.loadtxt(...).astype('f4') does.
std::optional<float> text_float(std::string_view text);

// Whether it says that a number is missing: nothing, NA, nan, null, ? and the like, in any letters.
bool is_missing_value(std::string_view text);

// Whether it is a number in another form than text_number() takes: infinite, or with commas, blanks, apostrophes or
// underscores between its digits.
bool is_meant_for_number(std::string_view text);

// Why text_float() does not take it, and what to do, as a sentence: `"x" is not a number; ...`. `if_large`: what to do about
// a number that is too large.
std::string why_no_number(std::string_view text,
                          std::string_view if_large = "scale the column, or leave the row out");

} // namespace troupe
