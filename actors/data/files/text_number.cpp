#include "actors/data/files/text_number.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "schemas/base/printable.hpp"

namespace troupe {

namespace {

constexpr std::size_t shown_bytes_max = 40;

constexpr bool is_blank(char c) noexcept {
    return c == ' ' || c == '\t';
}

constexpr bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

// A decimal of at most 15 digits without an exponent, such as -12.375. Its digits as a whole number and the power of ten are
// exact, so that their quotient is rounded once: W. D. Clinger, "How to read floating point numbers accurately", PLDI 1990.
std::optional<double> short_decimal(std::string_view text) noexcept {
    constexpr std::size_t digits_max = 15;
    constexpr std::array<double, digits_max + 1> powers{
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const bool is_negative = text.starts_with('-');
    text.remove_prefix(is_negative ? 1 : 0);
    if (text.size() > digits_max + 1)
        return std::nullopt;
    std::int64_t whole = 0;
    std::size_t digits = 0, behind_point = 0;
    bool has_point = false;
    for (const char c : text) {
        if (is_digit(c)) {
            whole = whole * 10 + (c - '0');
            ++digits;
            behind_point += has_point ? 1 : 0;
        } else if (c != '.' || std::exchange(has_point, true)) {
            return std::nullopt;
        }
    }
    if (digits == 0 || digits > digits_max)
        return std::nullopt;
    const double number = static_cast<double>(whole) / powers[behind_point];
    return is_negative ? -number : number;
}

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
    return !text.empty() && is_digit(text.front()) && is_digit(text.back()) &&
           text.find_first_not_of("0123456789.,'_ \u00a0\u202f") == std::string_view::npos &&
           text.find_first_not_of("0123456789.") != std::string_view::npos;
}

} // namespace

std::string_view trimmed(std::string_view text) noexcept {
    while (!text.empty() && is_blank(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back()))
        text.remove_suffix(1);
    return text;
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
    const auto end = std::ranges::find_if(text, is_blank);
    const std::string_view word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
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
    if (const auto number = short_decimal(text))
        return number;
    const auto number = any_number(text);
    return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<double> text_in_float_range(std::string_view text) {
    if (const auto number = short_decimal(text))
        return number;
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
