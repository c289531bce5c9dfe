#include "schemas/base/printable.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

namespace troupe {

namespace {

struct code_point {
    std::uint32_t value = 0;
    std::size_t bytes = 0; // 0: not UTF-8
};

// Strict: no overlong forms, surrogates or values past U+10FFFF.
code_point read_utf8(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    if (lead < 0x80)
        return {lead, 1};
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < length)
        return {};
    std::uint32_t value = lead & (0x7fu >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0u) != 0x80u)
            return {};
        value = value << 6 | (byte(i) & 0x3fu);
    }
    const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
    const bool surrogate = value >= 0xd800 && value <= 0xdfff;
    return overlong || surrogate || value > 0x10ffff ? code_point{} : code_point{value, length};
}

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
