#include "actors/data/matrix/matrix_market_rows.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "actors/data/files/line_reader.hpp"
#include "actors/data/files/text_number.hpp"
#include "actors/data/matrix/held_rows.hpp"

namespace troupe {

namespace {

constexpr std::string_view banner = "%%matrixmarket";

std::vector<std::string_view> words_of(std::string_view line) {
    constexpr std::string_view blanks = " \t";
    std::vector<std::string_view> words;
    for (std::size_t at = line.find_first_not_of(blanks); at < line.size();) {
        const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
        words.push_back(line.substr(at, end - at));
        at = line.find_first_not_of(blanks, end);
    }
    return words;
}

// A file after its line of sizes.
struct market_file {
    line_reader lines;
    bool is_coordinate = false;
    bool is_pattern = false;
    bool is_symmetric = false;
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;
    std::uint64_t numbers = 0; // lines that follow

    held_form form() const { return {lines.name() + ": line 1", rows, columns}; }
};

result<void> read_banner(market_file& file) {
    const auto line = file.lines.next();
    if (!line)
        return line.failure();
    const std::string text = lower_case(line->value_or(""));
    const auto words = words_of(text);
    if (words.size() != 5 || words[0] != banner || words[1] != "matrix")
        return file.lines.fail("a Matrix Market file begins with %%MatrixMarket matrix FORMAT "
                               "FIELD SYMMETRY");
    const std::string_view format = words[2], field = words[3], symmetry = words[4];
    if (format != "coordinate" && format != "array")
        return file.lines.fail("the format " + quoted(format) + "; coordinate and array are read");
    file.is_coordinate = format == "coordinate";
    file.is_pattern = field == "pattern" && file.is_coordinate;
    if (!file.is_pattern && field != "real" && field != "double" && field != "integer")
        return file.lines.fail("the field " + quoted(field) +
                               (file.is_coordinate ? "; real, integer and pattern are read"
                                                   : "; of arrays real and integer are read"));
    file.is_symmetric = symmetry == "symmetric";
    if (!file.is_symmetric && symmetry != "general")
        return file.lines.fail("the symmetry " + quoted(symmetry) +
                               "; general and symmetric are read");
    return {};
}

// Finds the line of sizes; the words in it.
result<std::vector<std::uint64_t>> read_size_line(market_file& file) {
    for (;;) {
        const auto line = file.lines.next_filled();
        if (!line)
            return line.failure();
        if (!*line)
            return file.lines.fail("the file ends before its sizes; fetch it again");
        if ((*line)->starts_with('%'))
            continue;
        std::vector<std::uint64_t> sizes;
        for (const std::string_view word : words_of(**line))
            if (const auto number = whole_number(word))
                sizes.push_back(*number);
            else
                return file.lines.fail("the size " + quoted(word) + " is not a whole number");
        return sizes;
    }
}

result<void> read_sizes(market_file& file) {
    const auto sizes = read_size_line(file);
    if (!sizes)
        return sizes.failure();
    if (sizes->size() != (file.is_coordinate ? 3 : 2))
        return file.lines.fail(file.is_coordinate
                                   ? "the sizes of coordinates are ROWS COLUMNS ENTRIES"
                                   : "the sizes of an array are ROWS COLUMNS");
    file.rows = (*sizes)[0];
    file.columns = (*sizes)[1];
    if (const std::string why = why_not_held(file.form(), 0, 1); !why.empty())
        return file.lines.fail(why);
    if (file.is_symmetric && file.rows != file.columns)
        return file.lines.fail("a symmetric matrix has as many rows as columns; write general");
    const std::uint64_t places = held_columns::numbers(file.form(), file.is_symmetric);
    file.numbers = file.is_coordinate ? (*sizes)[2] : places;
    if (file.numbers > places)
        return file.lines.fail(std::to_string(file.numbers) + " entries in a matrix that has " +
                               std::to_string(places) + " places");
    const std::uint64_t held = file.numbers * (file.is_coordinate && file.is_symmetric ? 2 : 1);
    if (const std::string why = why_not_held(
            file.form(), held, file.is_coordinate ? sizeof(matrix_entry) : sizeof(double));
        !why.empty())
        return file.lines.fail(why);
    // "1 1 1\n", "1 1\n" and "1\n"; the last line may have no end.
    const std::uint64_t line_bytes = !file.is_coordinate ? 2 : file.is_pattern ? 4 : 6;
    if (file.numbers > 0 && !file.lines.can_hold(file.numbers * line_bytes - 1))
        return file.lines.fail("truncated: the file is too short for " +
                               std::to_string(file.numbers) + " numbers; fetch it again");
    return {};
}

result<market_file> open_market_file(const std::string& path) {
    auto lines = line_reader::open(path);
    if (!lines)
        return lines.failure();
    market_file file{std::move(*lines)};
    if (auto read = read_banner(file); !read)
        return read.failure();
    if (auto read = read_sizes(file); !read)
        return read.failure();
    return file;
}

// --- the numbers

// Reads the lines that follow the sizes, each as words; `take` says why it cannot be taken, or is empty.
result<void> read_numbers(market_file& file,
                          const std::function<std::string(std::string_view)>& take) {
    for (std::uint64_t i = 0; i < file.numbers; ++i) {
        const auto line = file.lines.next_filled();
        if (!line)
            return line.failure();
        if (!*line)
            return file.lines.fail("the file ends after " + std::to_string(i) + " of " +
                                   std::to_string(file.numbers) + " numbers; fetch it again");
        if (const std::string why = take(**line); !why.empty())
            return file.lines.fail(why);
    }
    const auto more = file.lines.next_filled();
    if (!more)
        return more.failure();
    if (*more)
        return file.lines.fail("more than the " + std::to_string(file.numbers) +
                               " numbers of the sizes; correct these");
    return {};
}

// Parses an entry; why it is none, or empty.
std::string parse_entry(const market_file& file, std::string_view line, matrix_entry& entry) {
    const std::string_view row = take_word(line), column = take_word(line);
    const std::string_view value = take_word(line);
    if (column.empty() || value.empty() != file.is_pattern || !trimmed(line).empty())
        return file.is_pattern ? "an entry of a pattern is ROW COLUMN"
                               : "an entry is ROW COLUMN VALUE";
    const auto r = whole_number(row), c = whole_number(column);
    if (!r || *r < 1 || *r > file.rows)
        return "the row " + quoted(row) + "; rows are 1 to " + std::to_string(file.rows);
    if (!c || *c < 1 || *c > file.columns)
        return "the column " + quoted(column) + "; columns are 1 to " +
               std::to_string(file.columns);
    if (file.is_symmetric && *r < *c)
        return "an entry above the diagonal; a symmetric matrix has its lower triangle in the file";
    const auto number = file.is_pattern ? std::optional{1.0} : text_in_float_range(value);
    if (!number)
        return why_no_number(value);
    entry = {static_cast<std::uint32_t>(*r - 1), static_cast<std::int32_t>(*c - 1), *number};
    return {};
}

matrix_entry mirrored(const matrix_entry& e) {
    return {static_cast<std::uint32_t>(e.column), static_cast<std::int32_t>(e.row), e.value};
}

// Says in which line the second of two entries of the same place is.
error find_twice(const std::string& path, const matrix_entry& twice) {
    auto file = open_market_file(path);
    if (!file)
        return file.failure();
    // The lower triangle has the place if the matrix is symmetric.
    const auto is_it = [&](const matrix_entry& e) {
        const bool is_above =
            file->is_symmetric && twice.column > static_cast<std::int64_t>(twice.row);
        const matrix_entry wanted = is_above ? mirrored(twice) : twice;
        return e.row == wanted.row && e.column == wanted.column;
    };
    bool is_second = false;
    const auto found = read_numbers(*file, [&](std::string_view line) -> std::string {
        matrix_entry entry;
        const std::string why = parse_entry(*file, line, entry);
        if (!why.empty() || !is_it(entry) || !std::exchange(is_second, true))
            return why;
        return "row " + std::to_string(entry.row + 1) + ", column " +
               std::to_string(entry.column + 1) + " a second time; leave one of them out";
    });
    return found ? file->lines.fail(file_changed) : found.failure();
}

result<std::unique_ptr<table_rows>> hold_entries(const std::string& path, market_file file) {
    auto held =
        std::make_unique<held_entries>(file.form(), file.numbers * (file.is_symmetric ? 2 : 1));
    const auto all = read_numbers(file, [&](std::string_view line) {
        matrix_entry entry;
        std::string why = parse_entry(file, line, entry);
        if (!why.empty())
            return why;
        held->add(entry);
        if (file.is_symmetric && entry.column != static_cast<std::int64_t>(entry.row))
            held->add(mirrored(entry));
        return why;
    });
    if (!all)
        return all.failure();
    const auto twice = held->sort();
    if (!twice)
        return std::unique_ptr<table_rows>{std::move(held)};
    held.reset();
    return find_twice(path, *twice);
}

result<std::unique_ptr<table_rows>> hold_array(market_file file) {
    auto held = std::make_unique<held_columns>(file.form(), file.is_symmetric);
    const auto all = read_numbers(file, [&](std::string_view line) {
        const auto number = text_in_float_range(line);
        if (!number)
            return why_no_number(line);
        held->add(*number);
        return std::string{};
    });
    if (!all)
        return all.failure();
    return std::unique_ptr<table_rows>{std::move(held)};
}

} // namespace

bool looks_like_matrix_market(std::string_view text) {
    return lower_case(text.substr(0, banner.size())) == banner;
}

result<std::unique_ptr<table_rows>> open_matrix_market_rows(const std::string& path) {
    auto file = open_market_file(path);
    if (!file)
        return file.failure();
    return file->is_coordinate ? hold_entries(path, std::move(*file))
                               : hold_array(std::move(*file));
}

} // namespace troupe
