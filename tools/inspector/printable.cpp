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
