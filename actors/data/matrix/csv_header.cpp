#include "actors/data/matrix/csv_header.hpp"

#include <algorithm>

#include "actors/data/files/text_number.hpp"

namespace troupe {

namespace {

constexpr std::size_t names_counted_min = 3; // 0 and 1 alone may well be a row
constexpr std::size_t numbers_shown_max = 4;
constexpr std::uint64_t year_min = 1800, year_max = 2100;

bool is_number(std::string_view cell) {
    return text_number(cell).has_value();
}
bool is_whole(std::string_view cell) {
    return whole_number(cell.starts_with('-') ? cell.substr(1) : cell).has_value();
}
// The digits before the point of a whole number that is written as a decimal, such as 3.0.
std::string_view without_point(std::string_view cell) {
    constexpr std::string_view end = ".0";
    return cell.ends_with(end) ? cell.substr(0, cell.size() - end.size()) : cell;
}
bool is_year(std::string_view cell) {
    const auto number = whole_number(without_point(cell));
    return number && *number >= year_min && *number <= year_max;
}

// Whether the cells are `from`, `from` + 1, ...
bool count_on(std::span<const std::string_view> cells, std::uint64_t from) {
    return std::ranges::all_of(cells, [&](std::string_view cell) {
        return without_point(cell) == std::to_string(from++); // not 00
    });
}

// Years that rise or fall.
bool are_years(const csv_cells& cells) {
    return cells.size() > 1 && std::ranges::all_of(cells, is_year) &&
           (std::ranges::adjacent_find(cells, std::ranges::greater_equal{}) == cells.end() ||
            std::ranges::adjacent_find(cells, std::ranges::less_equal{}) == cells.end());
}

// Whether all numbers of the first line are whole, and each column has one below that is not.
bool is_whole_above_fractions(const csv_cells& first, std::span<const csv_cells> rows) {
    // Two columns of decimals may well begin with 1.0 and 2.0.
    const bool are_decimals = !std::ranges::all_of(first, is_whole);
    if (first.size() < (are_decimals ? names_counted_min : 2))
        return false;
    for (std::size_t column = 0; column < first.size(); ++column) {
        const auto is_fraction = [&](const csv_cells& row) {
            return column < row.size() && is_number(row[column]) &&
                   !is_whole(are_decimals ? without_point(row[column]) : row[column]);
        };
        if (!is_whole(without_point(first[column])) || std::ranges::none_of(rows, is_fraction))
            return false;
    }
    return true;
}

std::string shown(const csv_cells& cells) {
    std::string all;
    for (std::size_t i = 0; i < std::min(cells.size(), numbers_shown_max); ++i)
        all += (i == 0 ? "" : ", ") + std::string{cells[i]};
    return all + (cells.size() > numbers_shown_max ? ", ..." : "");
}

// Whether a line that counts from 0 has the names of columns.
bool are_names(std::span<const std::string_view> counted, std::span<const csv_cells> rows) {
    if (rows.empty())
        return false;
    const csv_cells& next = rows.front();
    if (std::ranges::all_of(counted, is_whole) &&
        std::ranges::any_of(
            next, [](std::string_view cell) { return is_number(cell) && !is_whole(cell); }))
        return true;
    return counted.size() >= names_counted_min && !count_on(next, next.size());
}

} // namespace

first_line_guess guess_first_line(const csv_cells& first, std::span<const csv_cells> rows) {
    const auto numbers = static_cast<std::size_t>(std::ranges::count_if(first, is_number));
    if (numbers == 0)
        return {std::ranges::none_of(first, is_meant_for_number) &&
                    !std::ranges::all_of(first, is_missing_value),
                {}};
    // pandas leaves the name of its index empty.
    const auto counted = std::span{first}.subspan(first.front().empty() ? 1 : 0);
    if (count_on(counted, 0) && are_names(counted, rows))
        return {true, "the first line, " + shown(first) +
                          ", is taken for the names of the columns, which pandas counts so where "
                          "they have none"};
    if (numbers < first.size() || rows.empty())
        return {};
    const bool counts =
        first.size() > 1 && count_on(first, 0) && !count_on(rows.front(), rows.front().size());
    if (counts || (are_years(first) && !are_years(rows.front())) ||
        is_whole_above_fractions(first, rows))
        return {false, "the first line, " + shown(first) + ", is taken for a row"};
    return {};
}

} // namespace troupe
