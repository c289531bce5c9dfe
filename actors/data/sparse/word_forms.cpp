#include "actors/data/sparse/word_forms.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <new>

#include "actors/data/sparse/character_kinds.hpp"
#include "schemas/base/utf8.hpp"

namespace troupe {

namespace {

std::string mapped(std::string_view text, unsigned options) {
    utf8proc_uint8_t* made = nullptr;
    const utf8proc_ssize_t length =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                     static_cast<utf8proc_ssize_t>(text.size()), &made,
                     static_cast<utf8proc_option_t>(options | UTF8PROC_COMPOSE | UTF8PROC_STABLE));
    const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner{made, std::free};
    if (length == UTF8PROC_ERROR_NOMEM)
        throw std::bad_alloc{};
    return length < 0
               ? std::string{text}
               : std::string{reinterpret_cast<const char*>(made), static_cast<std::size_t>(length)};
}

enum class letter_case { none, has, ignorable };

letter_case case_of(std::uint32_t c) {
    if (is_cased(c))
        return letter_case::has;
    return category_of(c) == UTF8PROC_CATEGORY_LO ? letter_case::none : letter_case::ignorable;
}

// Whether the first letter of the text that counts has a case.
bool begins_with_case(std::string_view text) {
    while (!text.empty()) {
        const code_point c = read_utf8(text);
        if (c.bytes == 0)
            return false;
        if (const letter_case found = case_of(c.value); found != letter_case::ignorable)
            return found == letter_case::has;
        text.remove_prefix(c.bytes);
    }
    return false;
}

std::uint32_t lower(std::uint32_t c, casing cases) {
    constexpr std::uint32_t dotless_i = 0x131;
    if (c == 'I' && cases == casing::turkish)
        return dotless_i;
    return static_cast<std::uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

void append(std::uint32_t c, std::string& to) {
    std::array<utf8proc_uint8_t, 4> bytes{};
    const auto count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), bytes.data());
    to.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(count));
}

} // namespace

std::string lower_case_of(std::string_view word, casing cases) {
    constexpr std::uint32_t capital_sigma = 0x3a3, final_sigma = 0x3c2;
    const std::string composed = mapped(word, UTF8PROC_IGNORE);
    std::string lowered;
    bool follows_case = false;
    for (std::string_view rest{composed}; !rest.empty();) {
        const code_point c = read_utf8(rest);
        if (c.bytes == 0)
            return composed;
        rest.remove_prefix(c.bytes);
        const bool is_final = c.value == capital_sigma && follows_case && !begins_with_case(rest);
        append(is_final ? final_sigma : lower(c.value, cases), lowered);
        if (const letter_case found = case_of(c.value); found != letter_case::ignorable)
            follows_case = found == letter_case::has;
    }
    return mapped(lowered, 0); // lower case may compose where upper case does not
}

std::size_t composed_characters(std::string_view word) {
    std::size_t characters = 0;
    const std::string composed = mapped(word, UTF8PROC_IGNORE);
    for (std::string_view rest{composed}; !rest.empty(); ++characters)
        rest.remove_prefix(std::max<std::size_t>(read_utf8(rest).bytes, 1));
    return characters;
}

std::string folded(std::string_view word) {
    return mapped(word, UTF8PROC_CASEFOLD);
}

std::size_t letters_in(std::string_view word) noexcept {
    std::size_t letters = 0;
    while (!word.empty()) {
        const code_point c = read_utf8(word);
        if (c.bytes == 0 || !is_mark(c.value))
            ++letters;
        word.remove_prefix(c.bytes == 0 ? 1 : c.bytes);
    }
    return letters;
}

} // namespace troupe
