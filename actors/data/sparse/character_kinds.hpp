// Kinds of characters, by Unicode's general categories (libutf8proc). Pure.
#pragma once

#include <cstdint>

#include <utf8proc.h>

namespace troupe {

inline utf8proc_category_t category_of(std::uint32_t c) noexcept {
    return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

// L: of any script.
inline bool is_letter(std::uint32_t c) noexcept {
    if (c < 0x80)
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const utf8proc_category_t category = category_of(c);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

// Lu, Ll, Lt: a letter of a script that has upper and lower case.
inline bool is_cased(std::uint32_t c) noexcept {
    const utf8proc_category_t category = category_of(c);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LT;
}

// M: on or around the letter before it.
inline bool is_mark(std::uint32_t c) noexcept {
    const utf8proc_category_t category = category_of(c);
    return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

} // namespace troupe
