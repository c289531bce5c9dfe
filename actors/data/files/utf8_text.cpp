#include "actors/data/files/utf8_text.hpp"

#include <cstdio>

#include <utf8proc.h>

#include "schemas/base/utf8.hpp"

namespace troupe {

std::string why_not_utf8(std::string_view text) {
    bool has_utf8 = false; // characters of several bytes
    while (!text.empty()) {
        const code_point c = read_utf8(text);
        if (c.bytes > 0 && c.value == 0)
            return "a NUL byte, which is in no text in UTF-8; give a text, or leave the byte out";
        if (c.bytes == 0) {
            const auto value = static_cast<unsigned char>(text[0]);
            const bool is_windows = value >= 0x80 && value < 0xa0; // latin1 has no characters there
            char byte[8];
            std::snprintf(byte, sizeof byte, "%02x", value);
            const std::string is_none = std::string{"the byte 0x"} + byte + " is not UTF-8";
            if (has_utf8)
                return is_none + ", though the text before it is: it is cut off, or of two "
                                 "encodings; mend it there";
            return is_none + "; convert the text, as by iconv -f " +
                   (is_windows ? "cp1252" : "latin1") + " -t utf-8";
        }
        has_utf8 |= c.bytes > 1;
        text.remove_prefix(c.bytes);
    }
    return {};
}

bool has_visible_text(std::string_view text) {
    while (!text.empty()) {
        const code_point c = read_utf8(text);
        const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c.value));
        if (category < UTF8PROC_CATEGORY_ZS || category > UTF8PROC_CATEGORY_CF)
            return true;
        text.remove_prefix(c.bytes);
    }
    return false;
}

} // namespace troupe
