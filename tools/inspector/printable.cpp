#include "tools/inspector/printable.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>

#include "schemas/base/check.hpp"

namespace troupe::inspector {

namespace {

template <class... Args>
std::string formatted(const char* format, Args... args) {
    std::array<char, 64> text{};
    const int length = std::snprintf(text.data(), text.size(), format, args...);
    return {text.data(), static_cast<std::size_t>(std::clamp(length, 0, int{text.size()} - 1))};
}

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

// Columns on a terminal, as far as they can be told without its font.
std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }));
}

// Three digits and a unit; `step` between the units.
std::string scaled(double value, double step, const std::array<const char*, 5>& units) {
    std::size_t unit = 0;
    while (value >= step * 0.9995 && unit + 1 < units.size()) {
        value /= step;
        ++unit;
    }
    const int digits = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    return formatted("%.*f %s", digits, value, units[unit]);
}

} // namespace

std::string printable(std::string_view text, std::size_t bytes_max) {
    std::string safe;
    while (!text.empty()) {
        const code_point c = read_utf8(text);
        std::string piece;
        if (c.bytes == 0)
            piece =
                formatted("\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(text[0])));
        else if (is_obeyed(c.value))
            piece = c.value < 0x80 ? formatted("\\x%02x", c.value) : formatted("\\u{%x}", c.value);
        else
            piece = text.substr(0, c.bytes);
        if (safe.size() + piece.size() > bytes_max)
            return safe + "...";
        safe += piece;
        text.remove_prefix(std::max<std::size_t>(c.bytes, 1));
    }
    return safe;
}

std::string duration_text(std::int64_t ns) {
    const std::string sign = ns < 0 ? "-" : "";
    const double size = ns < 0 ? -static_cast<double>(ns) : static_cast<double>(ns);
    if (size >= 100e9)
        return sign + formatted("%.0f s", size / 1e9);
    return sign + scaled(size, 1000, {"ns", "us", "ms", "s", "ks"});
}

std::string bytes_text(std::uint64_t bytes) {
    return scaled(static_cast<double>(bytes), 1000, {"B", "kB", "MB", "GB", "TB"});
}

std::string rate_text(double per_second) {
    return formatted(per_second > 0 && per_second < 10 ? "%.1f/s" : "%.0f/s", per_second);
}

std::string percent_text(double share) {
    return formatted("%.0f %%", std::clamp(share, 0.0, 1.0) * 100);
}

std::string hex_text(std::uint64_t id) {
    return formatted("0x%llx", static_cast<unsigned long long>(id));
}

std::string count_text(std::uint64_t n, std::string_view one, std::string_view many) {
    return std::to_string(n) + " " + std::string{n == 1 ? one : many};
}

void table::add(std::vector<std::string> cells) {
    TROUPE_CHECK(cells.size() == columns_.size(), "a row of a table has a cell for every column");
    rows_.push_back(std::move(cells));
}

void table::print(std::ostream& out) const {
    std::vector<std::size_t> widths;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        std::size_t width = width_of(columns_[c].heading);
        for (const auto& row : rows_)
            width = std::max(width, width_of(row[c]));
        widths.push_back(width);
    }
    const auto line = [&](const auto& cell_of) {
        std::string text;
        for (std::size_t c = 0; c < columns_.size(); ++c) {
            const std::string& cell = cell_of(c);
            const std::string padding(widths[c] - width_of(cell), ' ');
            text += c == 0 ? "" : "  ";
            text += columns_[c].side == align::right ? padding + cell : cell + padding;
        }
        text.erase(text.find_last_not_of(' ') + 1);
        out << text << '\n';
    };
    line([&](std::size_t c) -> const std::string& { return columns_[c].heading; });
    for (const auto& row : rows_)
        line([&](std::size_t c) -> const std::string& { return row[c]; });
}

} // namespace troupe::inspector
