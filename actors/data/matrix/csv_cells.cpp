#include "actors/data/matrix/csv_cells.hpp"

#include <algorithm>

#include "actors/data/files/text_number.hpp"

namespace troupe {

namespace {

// Behind the blanks before a cell; a tab that separates is none of them.
std::size_t begin_of_text(std::string_view record, std::size_t first, char separator) noexcept {
    return std::min(record.find_first_not_of(separator == '\t' ? " " : " \t", first),
                    record.size());
}

// Behind the mark that ends a quoted cell, which begins at `first`; npos: there is none.
std::size_t end_of_quotes(std::string_view record, std::size_t first) noexcept {
    for (std::size_t at = first + 1;;) {
        const std::size_t mark = record.find('"', at);
        if (mark == std::string_view::npos)
            return mark;
        if (record.substr(mark + 1, 1) != "\"")
            return mark + 1;
        at = mark + 2;
    }
}

} // namespace

char separator_of(std::string_view line) noexcept {
    bool is_quoted = false;
    bool has_semicolon = false;
    for (const char c : line) {
        is_quoted ^= c == '"';
        if (!is_quoted && c == '\t')
            return '\t';
        has_semicolon |= !is_quoted && c == ';';
    }
    return has_semicolon ? ';' : ',';
}

std::size_t end_of_cell(std::string_view record, std::size_t first, char separator) noexcept {
    if (first < record.size() && record[first] > '"') // most cells, so that they take no time
        return std::min(record.find(separator, first), record.size());
    const std::size_t begin = begin_of_text(record, first, separator);
    const bool has_quotes = record.substr(begin, 1) == "\"";
    const std::size_t behind = has_quotes ? end_of_quotes(record, begin) : first;
    return std::min(behind == std::string_view::npos ? behind : record.find(separator, behind),
                    record.size());
}

bool is_open(std::string_view record, char separator) noexcept {
    if (record.find('"') == std::string_view::npos)
        return false;
    for (std::size_t first = 0; first <= record.size();
         first = end_of_cell(record, first, separator) + 1) {
        const std::size_t begin = begin_of_text(record, first, separator);
        if (record.substr(begin, 1) == "\"" &&
            end_of_quotes(record, begin) == std::string_view::npos)
            return true;
    }
    return false;
}

std::string_view unquoted(std::string_view cell) noexcept {
    cell = trimmed(cell);
    if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"')
        return trimmed(cell.substr(1, cell.size() - 2));
    return cell;
}

std::vector<std::string_view> cells_of(std::string_view record, char separator) {
    std::vector<std::string_view> cells;
    for (std::size_t first = 0; first <= record.size();) {
        const std::size_t end = end_of_cell(record, first, separator);
        cells.push_back(unquoted(record.substr(first, end - first)));
        first = end + 1;
    }
    return cells;
}

} // namespace troupe
