#include "actors/data/files/utf8_text.hpp"

#include <cstdio>

#include "schemas/base/utf8.hpp"

namespace troupe {

std::string why_not_utf8(std::string_view text) {
    while (!text.empty()) {
        const code_point c = read_utf8(text);
        if (c.bytes > 0 && c.value == 0)
            return "a NUL byte, which is in no text in UTF-8; give a text, or leave the byte out";
        if (c.bytes == 0) {
            char byte[8];
            std::snprintf(byte, sizeof byte, "%02x", static_cast<unsigned char>(text[0]));
            return std::string{"the byte 0x"} + byte +
                   " is not UTF-8; convert the text, as by iconv -f latin1 -t utf-8";
        }
        text.remove_prefix(c.bytes);
    }
    return {};
}

} // namespace troupe
