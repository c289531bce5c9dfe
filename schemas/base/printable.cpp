#include "schemas/base/printable.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include "schemas/base/utf8.hpp"

namespace troupe {

namespace {

bool is_obeyed(std::uint32_t c) {
    return c < 0x20 || (c >= 0x7f && c < 0xa0) ||         // controls
           (c >= 0x200b && c <= 0x200f) ||                // invisible, direction marks
           (c >= 0x2028 && c <= 0x202e) ||                // line ends, direction overrides
           (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || // invisible, isolates
           (c >= 0xe0000 && c <= 0xe0fff);                // tags
}

std::string escaped(const char* format, unsigned value) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), format, value);
    return text.data();
}

} // namespace

std::string printable(std::string_view text, std::size_t bytes_max) {
    std::string safe;
    while (!text.empty()) {
        const code_point c = read_utf8(text);
        std::string piece;
        if (c.bytes == 0)
            piece = escaped("\\x%02x", static_cast<unsigned char>(text[0]));
        else if (is_obeyed(c.value))
            piece = c.value < 0x80 ? escaped("\\x%02x", c.value) : escaped("\\u{%x}", c.value);
        else
            piece = text.substr(0, c.bytes);
        if (safe.size() + piece.size() > bytes_max)
            return safe + "...";
        safe += piece;
        text.remove_prefix(std::max<std::size_t>(c.bytes, 1));
    }
    return safe;
}

bool is_printable_name(std::string_view text, std::size_t bytes_max) {
    if (text.empty() || text.size() > bytes_max)
        return false;
    while (!text.empty()) {
        const code_point c = read_utf8(text);
        if (c.bytes == 0 || is_obeyed(c.value))
            return false;
        text.remove_prefix(c.bytes);
    }
    return true;
}

} // namespace troupe
