// Code points of texts in UTF-8. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troupe {

struct code_point {
    std::uint32_t value = 0;
    std::size_t bytes = 0; // 0: not UTF-8
};

// The first code point of a text that is not empty. Strict: no overlong forms, surrogates or values past U+10FFFF.
inline code_point read_utf8(std::string_view text) noexcept {
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

} // namespace troupe
