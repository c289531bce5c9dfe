#include "apps/tsp/tsplib_lines.hpp"

#include <algorithm>
#include <cctype>

#include "actors/data/files/text_number.hpp"
#include "apps/tsp/tsp_limits.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe::tsp {

result<std::optional<tsplib_entry>> next_entry(line_reader& lines) {
    const auto line = lines.next_filled();
    if (!line)
        return line.failure();
    if (!*line || **line == "EOF")
        return std::optional<tsplib_entry>{};
    const std::size_t colon = (*line)->find(':');
    if (colon == std::string_view::npos)
        return std::optional{tsplib_entry{std::string{**line}, {}}};
    return std::optional{tsplib_entry{std::string{trimmed((*line)->substr(0, colon))},
                                      std::string{trimmed((*line)->substr(colon + 1))}}};
}

bool looks_like_tsplib(std::string_view line) {
    const std::string_view key = trimmed(line.substr(0, line.find(':')));
    const bool is_section = key.ends_with("_SECTION");
    const auto fits = [](unsigned char c) { return std::isupper(c) != 0 || c == '_'; };
    return !key.empty() && std::ranges::all_of(key, fits) &&
           (is_section || line.find(':') != std::string_view::npos);
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

result<std::size_t> read_city_number(const line_reader& lines, std::string_view word,
                                     std::size_t of) {
    const auto number = whole_number(word);
    if (!number || *number < 1 || *number > of)
        return lines.fail(troupe::quoted(word) + " is not the number of a city, 1 to " +
                          std::to_string(of));
    return static_cast<std::size_t>(*number - 1);
}

} // namespace troupe::tsp
