#include "actors/data/sparse/rating_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "actors/data/files/line_reader.hpp"
#include "actors/data/files/text_number.hpp"
#include "actors/data/matrix/csv_cells.hpp"
#include "actors/data/matrix/matrix_market_rows.hpp"

namespace troupe {

namespace {

using taker = std::function<std::string(const rating&)>;

// Separators between the fields of a line.
enum class separator { colons, tab, bar, semicolon, comma, blanks };

separator separator_between(std::string_view line) {
    if (line.find("::") != std::string_view::npos)
        return separator::colons;
    if (line.find('\t') != std::string_view::npos)
        return separator::tab;
    if (line.find('|') != std::string_view::npos)
        return separator::bar;
    if (line.find(';') != std::string_view::npos)
        return separator::semicolon;
    return line.find(',') != std::string_view::npos ? separator::comma : separator::blanks;
}

std::string_view text_of(separator between) {
    switch (between) {
    case separator::colons:
        return "::";
    case separator::tab:
        return "\t";
    case separator::bar:
        return "|";
    case separator::semicolon:
        return ";";
    case separator::comma:
        return ",";
    default:
        return " ";
    }
}

// The first fields, whether there are so many, and what is behind them.
struct rating_fields {
    std::string_view user, item, value;
    bool are_there = false;
    std::string_view rest;
};

rating_fields fields_of(std::string_view line, separator between) {
    std::array<std::string_view, 3> fields;
    std::size_t count = 0;
    while (count < fields.size() && !line.empty()) {
        if (between == separator::blanks) {
            fields[count++] = take_word(line);
            continue;
        }
        const std::string_view mark = text_of(between);
        const std::size_t end = line.find(mark);
        fields[count++] = unquoted(line.substr(0, end));
        line = end == std::string_view::npos ? std::string_view{} : line.substr(end + mark.size());
    }
    return {fields[0], fields[1], fields[2], count == fields.size(), unquoted(line)};
}

// Seconds, or a date with or without the time of day; 0 stands for none. Only names of columns make a time of another number
// that is as small as ratings are.
bool is_time(std::string_view text, bool has_names) {
    constexpr std::string_view digits = "0123456789";
    constexpr double ratings_below = 1000;
    const std::string_view first = take_word(text);
    if (const auto number = text_number(first); text.empty() && number)
        return has_names || *number == 0 || std::abs(*number) >= ratings_below;
    return digits.find(first.front()) != std::string_view::npos &&
           first.find_first_of("-/") != std::string_view::npos &&
           first.find_first_not_of("0123456789-/.:+TZ") == std::string_view::npos &&
           text.find_first_not_of("0123456789-.:+Z") == std::string_view::npos;
}

std::string no_fields(separator between) {
    const std::string_view mark = between == separator::tab ? " <tab> " : text_of(between);
    return "a rating is USER" + std::string{mark} + "ITEM" + std::string{mark} +
           "RATING, as in the first line";
}

// The text between the first two numbers of a line that begins with one.
std::string_view between_numbers(std::string_view line) {
    constexpr std::string_view digits = "0123456789";
    const std::size_t first = line.find_first_not_of(digits);
    if (first == 0 || first == std::string_view::npos)
        return {};
    const std::size_t end = line.find_first_of(digits, first);
    return end == std::string_view::npos ? std::string_view{} : line.substr(first, end - first);
}

std::string why_no_fields(std::string_view line, separator between) {
    const std::string_view found = between_numbers(line);
    if (between != separator::blanks || found.empty() ||
        found.find_first_of(" .") != std::string_view::npos)
        return no_fields(between);
    return quoted(found) +
           " between numbers; separate USER, ITEM and RATING by \"::\", tabs, bars, "
           "semicolons, commas or blanks";
}

// Why this is no user or no item, or empty.
std::string why_no_id(std::string_view what, std::string_view written) {
    const std::string numbers = std::string{what} + "s numbers";
    const auto because = [&](const std::string& why) {
        return "the " + std::string{what} + " " + quoted(written) + " " + why;
    };
    const bool are_digits = !written.empty() && std::ranges::all_of(written, [](char c) {
        return c >= '0' && c <= '9';
    });
    if (are_digits && written.size() > 1 && written.front() == '0')
        return because("begins with a zero, which a number does not keep; give " + numbers +
                       " that begin with none");
    if (whole_number(written))
        return {};
    if (are_digits)
        return because("is beyond 2^64 - 1; give " + numbers + " from 0 on");
    if (written.starts_with('-') && text_number(written))
        return because("is below 0; give " + numbers + " from 0 on");
    if (text_number(written))
        return because("is not a whole number; write it without a point, with pandas by "
                       "astype(int)");
    return because("is not a whole number; give " + numbers);
}

// Whether a rating and what is behind it are a time and a rating instead. Seconds are that many since 1973.
bool are_swapped(float value, std::string_view behind) {
    constexpr double seconds_min = 1e8, ratings_below = 1e6;
    const auto number = text_number(behind);
    return value >= seconds_min && number && std::abs(*number) < ratings_below;
}

constexpr std::string_view if_large = "leave it out, or divide all ratings";

// Why the line is no rating, or empty. `has_names`: a first line has told that the third field is the rating.
std::string parse_rating(std::string_view line, separator between, bool has_names, rating& to) {
    const rating_fields fields = fields_of(line, between);
    if (!fields.are_there)
        return why_no_fields(line, between);
    if (std::string why = why_no_id("user", fields.user); !why.empty())
        return why;
    if (std::string why = why_no_id("item", fields.item); !why.empty())
        return why;
    const auto value = text_in_float_range(fields.value);
    if (!value)
        return "the rating: " + why_no_number(fields.value, if_large);
    if (are_swapped(*value, fields.rest))
        return "the rating " + quoted(fields.value) + ", and behind it " + quoted(fields.rest) +
               "; a time stands behind the rating, not before it";
    if (!fields.rest.empty() && !is_time(fields.rest, has_names))
        return quoted(fields.rest) +
               " behind the rating is no time, such as 978300760 or 2000-12-31; leave it out";
    to = {*whole_number(fields.user), *whole_number(fields.item), *value};
    return {};
}

bool has_one_of(std::string_view name, std::initializer_list<std::string_view> words) {
    const std::string lower = lower_case(name);
    return std::ranges::any_of(
        words, [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

// "rating", "avg_rating" and "Ratings", but no "rating_id".
bool names_ratings(std::string_view name) {
    constexpr std::array<std::string_view, 6> words{"rating", "score", "star",
                                                    "value",  "grade", "preference"};
    std::string lower = lower_case(name);
    if (lower.ends_with('s'))
        lower.pop_back();
    return std::ranges::any_of(words, [&](std::string_view word) { return lower.ends_with(word); });
}

// Whether the first line has the names of the columns: then why they cannot be those of ratings, or empty.
std::optional<std::string> check_header(std::string_view line, separator between) {
    const rating_fields fields = fields_of(line, between);
    if (!fields.are_there || whole_number(fields.user) || whole_number(fields.item) ||
        is_meant_for_number(fields.value) || text_number(fields.value))
        return std::nullopt;
    if (!has_one_of(fields.user, {"user", "uid", "customer", "reviewer", "reader", "member"}) ||
        !names_ratings(fields.value))
        return "the columns " + quoted(fields.user) + ", " + quoted(fields.item) + ", " +
               quoted(fields.value) +
               "; the first three are the user, the item and the rating: if they are, name them "
               "so, "
               "or leave this line out";
    return std::string{};
}

result<void> read_lines(line_reader& lines, std::string_view first_line, const taker& take) {
    const separator between = separator_between(first_line);
    const auto header = check_header(first_line, between);
    const auto take_line = [&](std::string_view line) -> std::string {
        rating parsed;
        std::string why = parse_rating(line, between, header.has_value(), parsed);
        return why.empty() ? take(parsed) : why;
    };
    const std::string why = header ? *header : take_line(first_line);
    if (!why.empty())
        return lines.fail(why);
    return for_each_line(lines, [&](std::string_view line) {
        line = trimmed(line);
        return line.empty() ? std::string{} : take_line(line);
    });
}

// Why a Matrix Market file with this first line holds no ratings, or empty.
std::string why_no_ratings(std::string_view banner) {
    const std::string words = lower_case(banner);
    if (words.find(" pattern") != std::string::npos)
        return "a pattern says who has rated what, and not how; save ratings with the field real "
               "or integer";
    if (words.find(" symmetric") != std::string::npos)
        return "a symmetric matrix has the same users as items; save ratings as general, with a "
               "row for each user and a column for each item";
    return {};
}

result<void> read_matrix_market(const std::string& path, const taker& take) {
    const auto rows = open_matrix_market_rows(path);
    if (!rows)
        return rows.failure();
    if (!(*rows)->form().is_sparse)
        return (*rows)->fail("an array; save ratings as coordinates");
    row_block row;
    for (std::uint64_t user = 1;; ++user) {
        row.indices.clear();
        row.values.clear();
        const auto more = (*rows)->append_row(row);
        if (!more)
            return more.failure();
        if (!*more)
            return {};
        for (std::size_t i = 0; i < row.indices.size(); ++i) {
            const auto item = static_cast<std::uint64_t>(row.indices[i]) + 1;
            if (const std::string why = take({user, item, row.values[i]}); !why.empty())
                return (*rows)->fail("user " + std::to_string(user) + ", item " +
                                     std::to_string(item) + ": " + why);
        }
    }
}

} // namespace

result<void> for_each_rating(const std::string& path, const taker& take_any) {
    const taker take = [&](const rating& r) {
        if (std::abs(r.value) <= rating_max)
            return take_any(r);
        char written[32];
        const char* const end = std::to_chars(written, written + sizeof written, r.value).ptr;
        return "the rating " + std::string(written, static_cast<std::size_t>(end - written)) +
               " is beyond 1e9; " + std::string{if_large};
    };
    auto lines = line_reader::open(path);
    if (!lines)
        return lines.failure();
    const auto line = lines->next_filled();
    if (!line)
        return line.failure();
    if (!*line)
        return lines->fail("the file holds no ratings");
    const std::string first_line{**line};
    if (!looks_like_matrix_market(first_line))
        return read_lines(*lines, first_line, take);
    if (const std::string why = why_no_ratings(first_line); !why.empty())
        return lines->fail(why);
    return read_matrix_market(path, take);
}

} // namespace troupe
