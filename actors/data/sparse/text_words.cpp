#include "actors/data/sparse/text_words.hpp"

#include <utf8proc.h>

#include "actors/data/files/utf8_text.hpp"
#include "schemas/base/quantities.hpp"
#include "schemas/base/utf8.hpp"

namespace troupe {

namespace {

utf8proc_category_t category_of(std::uint32_t c) {
    return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool is_letter(std::uint32_t c) {
    if (c < 0x80)
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const utf8proc_category_t category = category_of(c);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool is_cased(std::uint32_t c) {
    const utf8proc_category_t category = category_of(c);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LT;
}

// Whether it belongs to the letter before it: rule WB4, by which marks and format characters are ignored.
bool is_ignored(std::uint32_t c) {
    constexpr std::uint32_t zero_width_space = 0x200b; // is there to separate words
    if (c == zero_width_space)
        return false;
    const utf8proc_category_t category = category_of(c);
    return (category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME) ||
           category == UTF8PROC_CATEGORY_CF;
}

// Whether the character between a letter and the text behind is a dot within a word: rules WB6 and WB7. Only letters that
// have cases are joined by a middle dot, which separates the parts of foreign names in Chinese.
bool joins(std::uint32_t letter, std::uint32_t c, std::string_view behind) {
    constexpr std::uint32_t middle_dot = 0xb7, ano_teleia = 0x387, gershayim = 0x5f4,
                            hyphenation_point = 0x2027;
    const bool is_dot = c == middle_dot || c == ano_teleia || c == hyphenation_point;
    if ((!is_dot && c != gershayim) || behind.empty())
        return false;
    const code_point next = read_utf8(behind);
    if (next.bytes == 0)
        return false;
    return is_dot ? is_cased(letter) && is_cased(next.value) : is_letter(next.value);
}

struct run {
    std::size_t bytes = 0;
    std::size_t characters = 0;
};

// Of a text that begins with a letter.
run run_at_begin(std::string_view text) {
    run found;
    std::uint32_t letter = 0;
    while (found.bytes < text.size()) {
        const std::string_view rest = text.substr(found.bytes);
        const code_point c = read_utf8(rest);
        if (is_letter(c.value))
            letter = c.value;
        else if (c.value < 0x80 || // also where this is not UTF-8
                 (!is_ignored(c.value) && !joins(letter, c.value, rest.substr(c.bytes))))
            break;
        found.bytes += c.bytes;
        ++found.characters;
    }
    return found;
}

} // namespace

std::string why_too_long(std::uint64_t runs) {
    return counted(runs, "run") + " of more than " + std::to_string(word_characters_max) +
           " characters without a blank " +
           (runs == 1 ? "is no word, and is" : "are no words, and are") +
           " left out; put blanks between words";
}

std::optional<std::string_view> text_words::next() {
    while (!rest_.empty()) {
        const code_point c = read_utf8(rest_);
        if (c.bytes == 0 || c.value == 0)
            return std::nullopt;
        if (!is_letter(c.value)) {
            rest_.remove_prefix(c.bytes);
            continue;
        }
        const run found = run_at_begin(rest_);
        const std::string_view word = rest_.substr(0, found.bytes);
        rest_.remove_prefix(found.bytes);
        if (found.characters <= word_characters_max)
            return word;
        ++too_long_;
    }
    return std::nullopt;
}

std::string text_words::why_stopped() const {
    return why_not_utf8(rest_);
}

} // namespace troupe
