#include "actors/data/matrix/csv_rows.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

#include "actors/data/files/text_number.hpp"
#include "actors/data/matrix/csv_cells.hpp"
#include "actors/data/matrix/csv_header.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/nearest.hpp"
#include "schemas/base/printable.hpp"

namespace troupe {

namespace {

constexpr std::size_t float64_digits = 17;
constexpr std::size_t columns_shown_max = 8;
constexpr std::size_t rows_to_guess_by = 50;
constexpr std::uint64_t lines_of_record_max = 1000; // each of which is looked at once more
constexpr std::size_t bytes_to_guess_by = 1u << 22;
constexpr std::string_view between_blanks =
    "blanks between numbers or names; CSV has commas, semicolons or tabs: convert it by "
    "sed 's/^ *//; s/  */,/g'";

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

// The next line that is not blank, with those in which a quoted cell goes on; valid until the next call. It may begin or end
// with separators that are blanks.
result<std::optional<std::string_view>> csv_rows::next_record() {
    std::optional<std::string_view> record;
    do {
        const auto line = lines_.next();
        if (!line || !*line)
            return line;
        record = *line;
    } while (trimmed(*record).empty());
    const auto goes_on = [&] { // a first cell may be of several lines, before anything separates
        if (separator_ == '\0' && !is_open(*record, '\0'))
            separator_ = separator_of(*record);
        return is_open(*record, separator_);
    };
    const std::uint64_t begun = lines_.line();
    for (bool is_joined = false; goes_on(); record = joined_) {
        if (!std::exchange(is_joined, true))
            joined_ = *record;
        bool may_end = false;
        while (!may_end) {
            const auto line = lines_.next();
            if (!line)
                return line;
            if (!*line || lines_.line() - begun > lines_of_record_max ||
                joined_.size() > limits::text_line_bytes_max)
                return error{
                    errc::data,
                    lines_.name() + ": line " + std::to_string(begun) +
                        ": a quotation mark that begins a cell has no end " +
                        (!*line ? "in the file"
                         : joined_.size() > limits::text_line_bytes_max
                             ? "within the bytes of a line"
                             : "within " + std::to_string(lines_of_record_max) + " lines") +
                        "; close it, or leave it out"};
            joined_.append(1, '\n').append(**line);
            may_end = (*line)->find('"') != std::string_view::npos;
        }
    }
    return record;
}

// Whether the first line has names, by the rows that follow it, which are read for that alone. Those that cannot be read are
// told of in their turn.
void csv_rows::guess_header(const std::string& first) {
    auto own = line_reader::open(settings_.path);
    if (!own)
        return;
    std::swap(lines_, *own);
    std::vector<std::string> records;
    std::size_t bytes = 0;
    for (auto record = next_record(); record && *record; record = next_record()) {
        records.emplace_back(**record);
        bytes += records.back().size();
        if (records.size() > rows_to_guess_by || bytes > bytes_to_guess_by)
            break;
    }
    std::swap(lines_, *own);
    if (!records.empty())
        records.erase(records.begin()); // the first line
    std::vector<csv_cells> rows;
    for (const std::string& record : records)
        rows.push_back(cells_of(record, separator_));
    const auto guess = guess_first_line(cells_of(first, separator_), rows);
    has_header_ = guess.has_names;
    doubt_ = guess.doubt;
}

// Finds the separator, the names and the number of columns.
result<void> csv_rows::read_first_line() {
    const auto record = next_record();
    if (!record)
        return record.failure();
    if (!*record)
        return fail("the file holds no rows");
    const std::string line{**record};
    auto cells = cells_of(line, separator_);
    width_ = cells.size();
    if (width_ == 1 && trimmed(line).starts_with('#') &&
        trimmed(trimmed(line).substr(1)).find(' ') != std::string_view::npos)
        return fail("a comment before the table; leave the line out");
    if (width_ == 1 && has_numbers_between_blanks(cells.front()))
        return fail(between_blanks);
    if (width_ > limits::matrix_columns_max)
        return fail("more than " + std::to_string(limits::matrix_columns_max) + " columns");
    if (settings_.has_header)
        has_header_ = *settings_.has_header;
    else
        guess_header(line);
    if (has_header_ && trimmed(line).starts_with("# ")) // as numpy.savetxt() writes it
        cells.front() = unquoted(trimmed(cells.front().substr(1)));
    std::vector<std::string> names;
    if (has_header_)
        std::ranges::transform(cells, std::back_inserter(names), name_in);
    const auto chosen = choose_target(names);
    for (std::size_t i = 0; i < width_ && !has_header_; ++i)
        if (!is_passed_over(i) && !text_number(cells[i]))
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
        if (const auto number = numbered(wanted, width_); number && *number != *target_)
            name_before_number_ = "target_column " + wanted + " is the name of column " +
                                  std::to_string(*target_) +
                                  " from 0, which goes before the number; if column " +
                                  std::to_string(*number) + " is meant, give " +
                                  std::to_string(static_cast<std::int64_t>(*number) -
                                                 static_cast<std::int64_t>(width_));
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
    all.resize(std::min(all.size(), columns_shown_max));
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
    const auto record = next_record();
    return record ? result<void>{} : record.failure();
}

std::vector<std::string> csv_rows::notes() const {
    std::vector<std::string> all;
    if (!doubt_.empty())
        all.push_back(doubt_ + (has_header_ ? "; set header: no if it is a row"
                                            : "; set header: yes if it has the names of the "
                                              "columns, or header: no if not"));
    if (!name_before_number_.empty())
        all.push_back(name_before_number_);
    for (std::size_t cell = 0; cell < long_.size(); ++cell)
        if (const long_numbers& its = long_[cell]; its.have_one_value && !its.have_one_text)
            all.push_back(column_name(cell) + ": its numbers, such as " +
                          printable(its.first, limits::name_bytes_max) +
                          ", differ by less than float64 can tell; subtract from all of them "
                          "what they have in common");
    const std::vector<std::string>& names = form_.column_names;
    const bool is_index =
        names.size() > 1 && (names.front().empty() || names.front() == "Unnamed: 0");
    if (is_index && target_ != 0)
        all.push_back("column 0 has no name, as an index that pandas or R has written; if it is "
                      "one, leave it out, as by to_csv(index=False)");
    return all;
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
    const bool is_behind_all = text.empty() && width_ > 1 && cell + 1 == width_;
    return fail(column_name(cell) + ": " + why_no_number(text) +
                (is_behind_all ? "; if the lines end with separators, take these off" : ""));
}

error csv_rows::wrong_width(std::size_t numbers) const {
    return fail(std::to_string(numbers) +
                (numbers == 1 ? " number, but the " : " numbers, but the ") +
                (has_header_ ? "header names " : "first row has ") + std::to_string(width_) +
                "; give every row as many");
}

void csv_rows::look_at_long(std::size_t cell, std::string_view written, double number) {
    long_.resize(width_);
    long_numbers& its = long_[cell];
    if (!its.have_one_value)
        return; // as most columns soon have
    if (its.first.empty())
        its = {.first = std::string{written}, .value = number};
    its.have_one_text = its.have_one_text && its.first == written;
    its.have_one_value = its.have_one_value && its.value == number;
}

result<bool> csv_rows::append_row(row_block& to) {
    const auto record = next_record();
    if (!record)
        return record.failure();
    if (!*record)
        return false;
    const std::string_view text = **record;
    std::size_t cell = 0;
    for (std::size_t first = 0; first <= text.size(); ++cell) {
        const std::size_t end = end_of_cell(text, first, separator_);
        if (cell < width_ && !is_passed_over(cell)) {
            const std::string_view written = unquoted(text.substr(first, end - first));
            const auto number = text_number(written);
            const bool is_target = cell == target_;
            if (!number || (!is_target && !std::isfinite(static_cast<float>(*number))))
                return wrong_number(cell, written);
            if (written.size() > float64_digits)
                look_at_long(cell, written, *number);
            (is_target ? to.targets : to.values).push_back(*number);
        }
        first = end + 1;
    }
    if (cell != width_)
        return wrong_width(cell);
    return true;
}

} // namespace troupe
