#include "actors/data/matrix/csv_rows.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "actors/data/files/text_number.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/nearest.hpp"
#include "schemas/base/printable.hpp"

namespace troupe {

namespace {

constexpr std::size_t names_shown_max = 8;
constexpr std::string_view between_blanks =
    "blanks between numbers or names; CSV has commas, semicolons or tabs: convert it by "
    "sed 's/^ *//; s/  */,/g'";

std::string_view unquoted(std::string_view cell) {
    cell = trimmed(cell);
    if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"')
        return trimmed(cell.substr(1, cell.size() - 2));
    return cell;
}

// A name as it is written; within quotes a quote is written twice.
std::string name_in(std::string_view cell) {
    std::string name;
    for (std::size_t i = 0; i < cell.size(); ++i) {
        name += cell[i];
        i += cell.substr(i, 2) == "\"\"" ? 1 : 0;
    }
    return name;
}

// Several numbers in the place of one.
bool has_numbers_between_blanks(std::string_view cell) {
    std::size_t count = 0;
    for (; !cell.empty(); ++count)
        if (!text_number(take_word(cell)))
            return false;
    return count > 1;
}

char separator_of(std::string_view line) {
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

// The end of the cell that begins at `first`. Separators in a cell that is quoted do not count.
std::size_t end_of_cell(std::string_view line, std::size_t first, char separator) {
    const bool has_quotes = trimmed(line.substr(first)).starts_with('"');
    bool is_quoted = false;
    for (std::size_t i = first; i < line.size(); ++i) {
        is_quoted ^= has_quotes && line[i] == '"';
        if (!is_quoted && line[i] == separator)
            return i;
    }
    return line.size();
}

// The cells of a line in which separators may be quoted.
std::vector<std::string_view> cells_of(std::string_view line, char separator) {
    std::vector<std::string_view> cells;
    for (std::size_t first = 0; first <= line.size();) {
        const std::size_t end = end_of_cell(line, first, separator);
        cells.push_back(unquoted(line.substr(first, end - first)));
        first = end + 1;
    }
    return cells;
}

bool is_number(std::string_view cell) {
    return text_number(cell).has_value();
}

// The next line that is not blank; it may begin or end with separators that are blanks.
result<std::optional<std::string_view>> next_row(line_reader& lines) {
    for (;;) {
        auto line = lines.next();
        if (!line || !*line || !trimmed(**line).empty())
            return line;
    }
}

// A column by its number, from 0 or from the end.
std::optional<std::size_t> numbered(std::string_view text, std::size_t width) {
    std::int64_t number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    const auto all = static_cast<std::int64_t>(width);
    if (number < -all || number >= all)
        return std::nullopt;
    return static_cast<std::size_t>(number < 0 ? number + all : number);
}

} // namespace

result<csv_rows> csv_rows::open(const csv_settings& settings) {
    auto lines = line_reader::open(settings.path);
    if (!lines)
        return lines.failure();
    csv_rows rows{settings, std::move(*lines)};
    if (auto read = rows.read_first_line(); !read)
        return read.failure();
    if (auto begun = rows.rewind(); !begun)
        return begun.failure();
    return rows;
}

// Finds the separator, the names and the number of columns.
result<void> csv_rows::read_first_line() {
    const auto line = next_row(lines_);
    if (!line)
        return line.failure();
    if (!*line)
        return fail("the file holds no rows");
    separator_ = separator_of(**line);
    auto cells = cells_of(**line, separator_);
    width_ = cells.size();
    if (width_ == 1 && has_numbers_between_blanks(cells.front()))
        return fail(between_blanks);
    if (width_ > limits::matrix_columns_max)
        return fail("more than " + std::to_string(limits::matrix_columns_max) + " columns");
    const auto numbers = std::ranges::count_if(cells, is_number);
    has_header_ = settings_.has_header.value_or(numbers == 0);
    if (has_header_ && trimmed(**line).starts_with("# ")) // as numpy.savetxt() writes it
        cells.front() = unquoted(trimmed(cells.front().substr(1)));
    std::vector<std::string> names;
    if (has_header_)
        std::ranges::transform(cells, std::back_inserter(names), name_in);
    const auto chosen = choose_target(names);
    for (std::size_t i = 0; i < width_ && !has_header_; ++i)
        if (!is_passed_over(i) && !is_number(cells[i]))
            return fail(why_no_number(cells[i]) +
                        "; if this line has the names of the columns, set header: yes");
    if (!chosen)
        return chosen.failure();
    for (std::size_t i = 0; i < names.size(); ++i)
        if (i != target_)
            form_.column_names.push_back(printable(names[i], limits::name_bytes_max));
    form_.columns = width_ - (target_ ? 1 : 0);
    form_.has_targets = target_ && settings_.needs_target_column;
    return {};
}

result<void> csv_rows::choose_target(const std::vector<std::string>& names) {
    const std::string& wanted = settings_.target_column;
    if (wanted.empty())
        return {};
    const auto unfit = [&](const std::string& sentence) {
        return error{errc::usage, fail(sentence).message()};
    };
    const std::string shown = "\"" + printable(wanted, limits::name_bytes_max) + "\"";
    if (const auto found = std::ranges::find(names, wanted); found != names.end()) {
        target_ = static_cast<std::size_t>(found - names.begin());
        if (std::find(found + 1, names.end(), wanted) != names.end())
            return unfit("two columns have the name " + shown +
                         "; name the one with the targets by its number from 0");
        return {};
    }
    target_ = numbered(wanted, width_);
    if (target_ || !settings_.needs_target_column)
        return {};
    const std::string last = std::to_string(width_ - 1);
    if (names.empty())
        return unfit("no target column " + shown + "; columns count from 0 to " + last +
                     ", or from -1 at the end");
    if (names.size() == 1 && names.front().find(' ') != std::string::npos)
        return fail(between_blanks);
    std::vector<std::string> all;
    for (const std::string& name : names)
        all.push_back(printable(name, limits::name_bytes_max));
    const std::string guessed = guess(wanted, all);
    all.resize(std::min(all.size(), names_shown_max));
    return unfit("no target column " + shown + "; " + guessed + "there are " + join(all) +
                 (all.size() < names.size() ? ", ..." : "") + ", or numbers from 0 to " + last);
}

result<void> csv_rows::rewind() {
    if (lines_.line() > 0) {
        auto again = line_reader::open(settings_.path);
        if (!again)
            return again.failure();
        lines_ = std::move(*again);
    }
    return skip_header();
}

result<void> csv_rows::skip_header() {
    if (!has_header_)
        return {};
    const auto line = next_row(lines_);
    return line ? result<void>{} : line.failure();
}

std::string csv_rows::column_name(std::size_t cell) const {
    std::string name = "column " + std::to_string(cell);
    if (form_.column_names.empty())
        return name;
    if (cell == target_)
        return name + " (the target)";
    const std::size_t feature = cell - (target_ && *target_ < cell ? 1 : 0);
    return name + " (" + form_.column_names[feature] + ")";
}

error csv_rows::wrong_number(std::size_t cell, std::string_view text) const {
    if (width_ == 1 && has_numbers_between_blanks(text))
        return fail(column_name(cell) + ": " + std::string{between_blanks});
    return fail(column_name(cell) + ": " + why_no_number(text));
}

error csv_rows::wrong_width(std::size_t numbers) const {
    return fail(std::to_string(numbers) +
                (numbers == 1 ? " number, but the " : " numbers, but the ") +
                (has_header_ ? "header names " : "first row has ") + std::to_string(width_) +
                "; give every row as many");
}

result<bool> csv_rows::append_row(row_block& to) {
    const auto line = next_row(lines_);
    if (!line)
        return line.failure();
    if (!*line)
        return false;
    const std::string_view text = **line;
    std::size_t cell = 0;
    for (std::size_t first = 0; first <= text.size(); ++cell) {
        const bool is_text = is_passed_over(cell);
        const std::size_t end = is_text ? end_of_cell(text, first, separator_)
                                        : std::min(text.find(separator_, first), text.size());
        if (cell < width_ && !is_text) {
            const std::string_view written = unquoted(text.substr(first, end - first));
            const auto number = text_number(written);
            const auto value = number ? static_cast<float>(*number) : 0.0f;
            const bool is_target = cell == target_;
            if (!number || (!is_target && !std::isfinite(value)))
                return wrong_number(cell, written);
            if (is_target)
                to.targets.push_back(*number);
            else
                to.values.push_back(value);
        }
        first = end + 1;
    }
    if (cell != width_)
        return wrong_width(cell);
    return true;
}

} // namespace troupe
