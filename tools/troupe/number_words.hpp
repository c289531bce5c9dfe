// Numbers by name, as run events have them, in what is printed. Pure.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "actors/run/run_events.hpp"
#include "schemas/base/json.hpp"

namespace troupe::cli {

// As printf writes it, of at most 255 characters.
template <class... Args>
std::string formatted(const char* format, Args... args) {
    char buffer[256];
    std::snprintf(buffer, sizeof buffer, format, args...);
    return buffer;
}

// "train loss 0.1234", "91.54%" with its name, "123 samples/s", "1.2 s". `share_format`: of shares, " %.2f%%".
std::string words_of(const named_number& n, const char* share_format);

// A member for each, with _ for blanks in its name; counts are whole numbers.
void add_numbers(json& to, const std::vector<named_number>& numbers);

} // namespace troupe::cli
