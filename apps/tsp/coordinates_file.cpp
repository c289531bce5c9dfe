// CSV of coordinates: read_coordinates of instance_file.hpp; and which format a file has.
#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <utility>

#include "actors/data/files/text_number.hpp"
#include "actors/data/matrix/csv_header.hpp"
#include "apps/tsp/cities_verdict.hpp"
#include "apps/tsp/instance_file.hpp"
#include "apps/tsp/tsp_limits.hpp"
#include "apps/tsp/tsplib_lines.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe::tsp {

namespace {

struct csv_line {
    std::string_view x, y;
    bool has_more = false;
};

csv_line split(std::string_view line) {
    const char separator = line.find('\t') != std::string_view::npos  ? '\t'
                           : line.find(';') != std::string_view::npos ? ';'
                                                                      : ',';
    const std::size_t first = line.find(separator);
    if (first == std::string_view::npos)
        return {trimmed(line), {}, false};
    const std::size_t second = line.find(separator, first + 1);
    return {trimmed(line.substr(0, first)),
            trimmed(line.substr(first + 1,
                                second == std::string_view::npos ? second : second - first - 1)),
            second != std::string_view::npos};
}

// Why it is no coordinate, or empty.
std::string parse_coordinate(std::string_view text, double& to) {
    const auto value = text_number(text);
    if (!value)
        return why_no_number(text);
    if (std::abs(*value) > limits::coordinate_max)
        return "the coordinate " + troupe::quoted(text) + " is beyond 1e9; scale all of them";
    to = *value;
    return {};
}

std::string parse_point(std::string_view line, point& to) {
    const csv_line fields = split(line);
    if (fields.has_more)
        return "more than two columns; give x and y alone";
    std::string_view rest = fields.x;
    if (fields.y.empty() && text_number(take_word(rest)) && text_number(rest))
        return "blanks between x and y; put a comma there";
    std::string why = parse_coordinate(fields.x, to.x);
    return why.empty() ? parse_coordinate(fields.y, to.y) : why;
}

bool is_header(std::string_view line) {
    const csv_line fields = split(line);
    return !fields.y.empty() && guess_first_line({fields.x, fields.y}, {}).has_names;
}

// Whether a first line of numbers has the names of the columns, by the line below it.
first_line_guess guess_by(const std::array<std::string, 2>& lines) {
    const csv_line names = split(lines[0]), row = split(lines[1]);
    return guess_first_line({names.x, names.y}, std::array{csv_cells{row.x, row.y}});
}

} // namespace

result<cities_file> read_coordinates(line_reader& lines) {
    std::vector<point> points;
    std::array<std::string, 2> first; // lines of cities
    bool is_first = true;
    auto read = for_each_line(lines, [&](std::string_view line) -> std::string {
        line = trimmed(line);
        if (line.empty() || (std::exchange(is_first, false) && is_header(line)))
            return {};
        if (points.size() == limits::cities_max)
            return "more than " + std::to_string(limits::cities_max) + " cities; give fewer";
        if (points.size() < first.size())
            first[points.size()] = line;
        point next;
        std::string why = parse_point(line, next);
        points.push_back(next);
        return why;
    });
    if (!read)
        return read.failure();
    const first_line_guess guess = guess_by(first);
    if (guess.has_names)
        points.erase(points.begin());
    if (points.size() < limits::cities_min)
        return lines.fail("a tour of " + counted(points.size(), "city", "cities") +
                          "; give 3 or more");
    cities_file made{instance::of_points(std::filesystem::path{lines.name()}.stem().string(),
                                         edge_weights::euclidean, std::move(points)),
                     {}};
    if (!guess.doubt.empty())
        made.notes.push_back(
            guess.doubt +
            (guess.has_names ? "; " : "; leave it out if it has the names of the columns, or ") +
            "write it as decimals, such as 0.0, if it is a city");
    return made;
}

result<cities_file> read_cities_file(const std::string& path) {
    auto lines = line_reader::open(path);
    if (!lines)
        return lines.failure();
    const auto line = lines->next_filled();
    if (!line)
        return line.failure();
    if (!*line)
        return lines->fail("the file holds no cities");
    const bool is_tsplib = looks_like_tsplib(**line);
    auto again = line_reader::open(path);
    if (!again)
        return again.failure();
    auto read = is_tsplib ? read_tsplib(*again) : read_coordinates(*again);
    if (!read)
        return read;
    cities_verdict verdict = judge(read->problem);
    if (!verdict.refusal.empty())
        return again->fail(verdict.refusal);
    std::ranges::move(verdict.notes, std::back_inserter(read->notes));
    return read;
}

} // namespace troupe::tsp
