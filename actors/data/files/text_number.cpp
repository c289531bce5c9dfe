#include "actors/data/files/text_number.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "schemas/base/printable.hpp"

namespace troupe {

namespace {

constexpr std::size_t shown_bytes_max = 40;

// Any number of the format, also one that is not finite.
std::optional<double> any_number(std::string_view text) {
    if (text.size() > 1 && text[0] == '+' && text[1] != '-')
        text.remove_prefix(1);
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, failed] = std::from_chars(text.data(), end, number);
    if (stopped != end || failed == std::errc::invalid_argument)
        return std::nullopt;
    if (failed == std::errc{})
        return number;
    long double wide = 0; // too large, or as good as 0
    if (std::from_chars(text.data(), end, wide).ec != std::errc{})
        return std::numeric_limits<double>::infinity();
    return static_cast<double>(wide);
}

// "1,234.5", "1 000", "1'000", "0,5"
bool has_grouped_digits(std::string_view text) {
    if (text.starts_with('-') || text.starts_with('+'))
        text.remove_prefix(1);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    return !text.empty() && is_digit(text.front()) && is_digit(text.back()) &&
           text.find_first_not_of("0123456789.,'_ \u00a0\u202f") == std::string_view::npos &&
           text.find_first_not_of("0123456789.") != std::string_view::npos;
}

} // namespace

std::string_view trimmed(std::string_view text) noexcept {
    constexpr std::string_view blanks = " \t";
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string lower_case(std::string_view text) {
    std::string lowered{text};
    for (char& c : lowered)
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    return lowered;
}

std::string_view take_word(std::string_view& text) noexcept {
    text = trimmed(text);
    const std::string_view word = text.substr(0, text.find_first_of(" \t"));
    text = trimmed(text.substr(word.size()));
    return word;
}

std::string quoted(std::string_view text) {
    return "\"" + printable(text, shown_bytes_max) + "\"";
}

std::optional<std::uint64_t> whole_number(std::string_view text) noexcept {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, failed] = std::from_chars(text.data(), end, number);
    return failed == std::errc{} && stopped == end ? std::optional{number} : std::nullopt;
}

std::optional<double> text_number(std::string_view text) {
    const auto number = any_number(text);
    return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<double> text_in_float_range(std::string_view text) {
    const auto number = any_number(text);
    return number && std::isfinite(static_cast<float>(*number)) ? number : std::nullopt;
}

std::optional<float> text_float(std::string_view text) {
    const auto number = text_in_float_range(text);
    return number ? std::optional{static_cast<float>(*number)} : std::nullopt;
}

bool is_missing_value(std::string_view text) {
    constexpr std::array<std::string_view, 11> words{"",  "na", "n/a", "nan",  "null", "none",
                                                     "?", "-",  ".",   "<na>", "#n/a"};
    const std::string lower = lower_case(text);
    return std::ranges::find(words, lower) != words.end();
}

bool is_meant_for_number(std::string_view text) {
    const auto number = any_number(text);
    return number ? std::isinf(*number) : has_grouped_digits(text);
}

std::string why_no_number(std::string_view text, std::string_view if_large) {
    const std::string shown = printable(text, shown_bytes_max);
    if (text.empty())
        return "a number is missing; fill it in, or leave the row out";
    const auto number = any_number(text);
    if ((number && std::isnan(*number)) || is_missing_value(text))
        return "\"" + shown + "\" is not a number; fill in missing values, or leave the row out";
    if (!number)
        return "\"" + shown + "\" is not a number; write decimals with a point" +
               (has_grouped_digits(text) ? ", and nothing between thousands" : "") +
               ", as -1.5 or 1e-3";
    if (text.find_first_of("0123456789") == std::string_view::npos)
        return "\"" + shown + "\" is not finite; give it a number, or leave the row out";
    return shown + " is no finite 32-bit number; " + std::string{if_large};
}

} // namespace troupe
