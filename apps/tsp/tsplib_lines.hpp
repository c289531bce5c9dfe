// TSPLIB's files have in common: lines KEY : VALUE, and sections of numbers. Keywords may be in small letters, and a
// keyword of the specification may stand without its colon.
//
// Threads: one. Errors: errc::data with the line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/data/files/line_reader.hpp"
#include "schemas/base/error.hpp"

namespace troupe::tsp {

struct tsplib_entry {
    std::string key;   // in capitals, without blanks around it; of a section its name
    std::string value; // empty for a section
};

std::string in_capitals(std::string_view text); // letters of ASCII alone
bool is_end_of_file(std::string_view line);     // EOF, in any letters

// The next line that is filled; none at the end of the file, or after a line EOF.
result<std::optional<tsplib_entry>> next_entry(line_reader& lines);

bool looks_like_tsplib(std::string_view line);

// The value as a number of cities, between 3 and `max`.
result<std::size_t> read_dimension(const line_reader& lines, const std::string& value,
                                   std::uint64_t max);

// The failure to read this as the number of a city, 1 to `of`.
error no_city_number(const line_reader& lines, std::string_view word, std::size_t of);

// A number of a city, from 1, as a city; `of` cities.
result<std::size_t> read_city_number(const line_reader& lines, std::string_view word,
                                     std::size_t of);

} // namespace troupe::tsp
