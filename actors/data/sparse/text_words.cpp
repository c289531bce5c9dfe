#include "actors/data/sparse/text_words.hpp"

#include "actors/data/files/utf8_text.hpp"
#include "actors/data/sparse/character_kinds.hpp"
#include "actors/data/sparse/word_forms.hpp"
#include "schemas/base/quantities.hpp"
#include "schemas/base/utf8.hpp"

namespace troupe {

namespace {

// Whether it belongs to the letter before it: rule WB4, by which marks and format characters are ignored.
bool is_ignored(std::uint32_t c) {
    constexpr std::uint32_t zero_width_space = 0x200b; // is there to separate words
    return is_mark(c) || (category_of(c) == UTF8PROC_CATEGORY_CF && c != zero_width_space);
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

// The run at the beginning of a text, which begins with a letter.
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
        // A character composes to three at most.
        if (found.characters <= word_characters_max / 3 ||
            composed_characters(word) <= word_characters_max)
            return word;
        ++too_long_;
    }
    return std::nullopt;
}

std::string text_words::why_stopped() const {
    return why_not_utf8(rest_);
}

} // namespace troupe
