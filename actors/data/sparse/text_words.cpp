#include "actors/data/sparse/text_words.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "schemas/base/utf8.hpp"

namespace troupe {

namespace {

struct code_range {
    std::uint32_t first;
    std::uint32_t last;
};

// From U+0370 on, what is no letter: digits, punctuation, symbols, and what has no meaning.
constexpr code_range no_letters[] = {
    {0x37e, 0x37e},     {0x387, 0x387},     {0x482, 0x482},     {0x55a, 0x55f},
    {0x589, 0x58f},     {0x5be, 0x5be},     {0x5c0, 0x5c0},     {0x5c3, 0x5c3},
    {0x5f3, 0x5f4},     {0x600, 0x60f},     {0x61b, 0x61f},     {0x660, 0x66d},
    {0x6d4, 0x6d4},     {0x6dd, 0x6de},     {0x6f0, 0x6f9},     {0x964, 0x970},
    {0xe3f, 0xe3f},     {0xe4f, 0xe5b},     {0x1680, 0x1680},   {0x2000, 0x2bff},
    {0x2e00, 0x2e7f},   {0x3000, 0x3004},   {0x3007, 0x3020},   {0x3030, 0x303f},
    {0x30fb, 0x30fb},   {0xe000, 0xf8ff},   {0xfd3e, 0xfd3f},   {0xfe00, 0xfe6f},
    {0xfeff, 0xff20},   {0xff3b, 0xff40},   {0xff5b, 0xff65},   {0xffe0, 0xffff},
    {0x1d7ce, 0x1d7ff}, {0x1f000, 0x1faff}, {0xe0000, 0x10ffff}};

bool is_ascii_letter(std::uint32_t c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_letter(std::uint32_t c) {
    if (c < 0x80)
        return is_ascii_letter(c);
    if (c < 0x370)
        return c == 0xaa || c == 0xb5 || c == 0xba ||
               (c >= 0xc0 && c < 0x2b0 && c != 0xd7 && c != 0xf7) || c >= 0x300;
    const auto* const range = std::ranges::upper_bound(no_letters, c, {}, &code_range::first);
    return range == std::begin(no_letters) || c > std::prev(range)->last;
}

// Blocks in which a letter in upper case is followed by the same in lower case.
bool is_upper_of_pair(std::uint32_t c) {
    const bool is_even = c % 2 == 0;
    if ((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17e) || (c >= 0x4c1 && c <= 0x4ce))
        return !is_even;
    return is_even &&
           ((c >= 0x100 && c <= 0x137) || (c >= 0x14a && c <= 0x177) ||
            (c >= 0x1e00 && c <= 0x1e95) || (c >= 0x1ea0 && c <= 0x1eff) ||
            (c >= 0x460 && c <= 0x481) || (c >= 0x48a && c <= 0x4bf) || (c >= 0x4d0 && c <= 0x52f));
}

std::uint32_t lower(std::uint32_t c) {
    if (c < 0x80)
        return c >= 'A' && c <= 'Z' ? c + 32 : c;
    if ((c >= 0xc0 && c <= 0xde && c != 0xd7) || (c >= 0x391 && c <= 0x3ab && c != 0x3a2) ||
        (c >= 0x410 && c <= 0x42f))
        return c + 32;
    if (c == 0x130) // the I with a dot of Turkish
        return 'i';
    if (c == 0x178)
        return 0xff;
    if (is_upper_of_pair(c))
        return c + 1;
    if (c >= 0x400 && c <= 0x40f)
        return c + 80;
    if (c >= 0x531 && c <= 0x556)
        return c + 48;
    // Greek with an accent.
    if (c == 0x386)
        return 0x3ac;
    if (c >= 0x388 && c <= 0x38a)
        return c + 37;
    if (c == 0x38c)
        return 0x3cc;
    return c == 0x38e || c == 0x38f ? c + 63 : c;
}

void append_utf8(std::uint32_t c, std::string& to) {
    const auto append = [&](std::uint32_t byte) { to += static_cast<char>(byte); };
    if (c < 0x80)
        return append(c);
    if (c < 0x800) {
        append(0xc0 | c >> 6);
    } else {
        if (c < 0x10000) {
            append(0xe0 | c >> 12);
        } else {
            append(0xf0 | c >> 18);
            append(0x80 | (c >> 12 & 0x3f));
        }
        append(0x80 | (c >> 6 & 0x3f));
    }
    append(0x80 | (c & 0x3f));
}

} // namespace

std::optional<std::string_view> text_words::next() {
    word_.clear();
    bool is_too_long = false;
    while (!rest_.empty()) {
        const code_point c = read_utf8(rest_);
        if (c.bytes == 0)
            return std::nullopt;
        const bool ends = !is_letter(c.value);
        if (ends && !word_.empty() && !is_too_long)
            return word_;
        rest_.remove_prefix(c.bytes);
        if (ends) {
            word_.clear();
            is_too_long = false;
        } else if (!is_too_long) {
            append_utf8(lower(c.value), word_);
            is_too_long = word_.size() > word_bytes_max;
        }
    }
    return word_.empty() || is_too_long ? std::nullopt : std::optional<std::string_view>{word_};
}

std::string text_words::why_stopped() const {
    if (rest_.empty() || read_utf8(rest_).bytes > 0)
        return {};
    char byte[8];
    std::snprintf(byte, sizeof byte, "%02x", static_cast<unsigned char>(rest_[0]));
    return std::string{"the byte 0x"} + byte +
           " is not UTF-8; convert the text, as by iconv -f latin1 -t utf-8";
}

std::string lower_case(std::string_view text) {
    std::string lowered;
    while (!text.empty()) {
        const code_point c = read_utf8(text);
        if (c.bytes == 0)
            lowered += text[0];
        else
            append_utf8(lower(c.value), lowered);
        text.remove_prefix(std::max<std::size_t>(c.bytes, 1));
    }
    return lowered;
}

std::size_t letters_in(std::string_view word) noexcept {
    return static_cast<std::size_t>(
        std::ranges::count_if(word, [](char c) { return (c & 0xc0) != 0x80; }));
}

} // namespace troupe
