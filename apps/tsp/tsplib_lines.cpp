#include "apps/tsp/tsplib_lines.hpp"

#include <algorithm>
#include <array>

#include "actors/data/files/text_number.hpp"
#include "apps/tsp/tsp_limits.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe::tsp {

namespace {

constexpr std::array<std::string_view, 10> keywords{"NAME",
                                                    "TYPE",
                                                    "COMMENT",
                                                    "DIMENSION",
                                                    "CAPACITY",
                                                    "GRAPH_TYPE",
                                                    "NODE_COORD_TYPE",
                                                    "EDGE_WEIGHT_TYPE",
                                                    "EDGE_WEIGHT_FORMAT",
                                                    "DISPLAY_DATA_TYPE"};

bool is_keyword(std::string_view word) {
    return std::ranges::find(keywords, in_capitals(word)) != keywords.end();
}

} // namespace

std::string in_capitals(std::string_view text) {
    std::string capitals{text};
    for (char& c : capitals)
        c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return capitals;
}

bool is_end_of_file(std::string_view line) {
    return in_capitals(trimmed(line)) == "EOF";
}

result<std::optional<tsplib_entry>> next_entry(line_reader& lines) {
    const auto line = lines.next_filled();
    if (!line)
        return line.failure();
    if (!*line || is_end_of_file(**line))
        return std::optional<tsplib_entry>{};
    std::string_view rest = **line;
    std::string_view key = trimmed(rest.substr(0, rest.find(':')));
    if (rest.find(':') != std::string_view::npos)
        rest = rest.substr(rest.find(':') + 1);
    else if (is_keyword(take_word(rest))) // KEY VALUE
        key = trimmed((*line)->substr(0, (*line)->size() - rest.size()));
    else
        rest = {};
    return std::optional{tsplib_entry{in_capitals(key), std::string{trimmed(rest)}}};
}

bool looks_like_tsplib(std::string_view line) {
    const bool has_colon = line.find(':') != std::string_view::npos;
    const std::string key = in_capitals(trimmed(line.substr(0, line.find(':'))));
    const auto fits = [](unsigned char c) { return (c >= 'A' && c <= 'Z') || c == '_'; };
    if (!key.empty() && std::ranges::all_of(key, fits) && (has_colon || key.ends_with("_SECTION")))
        return true;
    std::string_view rest = line;
    return is_keyword(take_word(rest)) && !rest.empty();
}

result<std::size_t> read_dimension(const line_reader& lines, const std::string& value,
                                   std::uint64_t max) {
    const auto number = whole_number(value);
    if (!number)
        return lines.fail("DIMENSION " + troupe::quoted(value) + " is not a whole number");
    if (*number < limits::cities_min)
        return lines.fail("a tour of " + counted(*number, "city", "cities") + "; give 3 or more");
    if (*number > max)
        return lines.fail("more than " + std::to_string(max) + " cities; give fewer");
    return static_cast<std::size_t>(*number);
}

error no_city_number(const line_reader& lines, std::string_view word, std::size_t of) {
    return lines.fail(troupe::quoted(word) + " is not the number of a city, 1 to " +
                      std::to_string(of));
}

result<std::size_t> read_city_number(const line_reader& lines, std::string_view word,
                                     std::size_t of) {
    const auto number = whole_number(word);
    if (number && *number == 0)
        return lines.fail("\"0\" is not the number of a city; number the cities from 1 to " +
                          std::to_string(of));
    if (!number || *number > of)
        return no_city_number(lines, word, of);
    return static_cast<std::size_t>(*number - 1);
}

} // namespace troupe::tsp
