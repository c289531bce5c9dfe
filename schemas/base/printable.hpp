// Text from outside, made fit for terminals and logs. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe {

// The text without anything that a terminal would obey: control characters (also the C1 ones), broken UTF-8 and marks
// that change the direction of writing are written as \xNN or \u{N}. Cut at `bytes_max`, with "..." where it was cut.
std::string printable(std::string_view text, std::size_t bytes_max);

// Whether the text may name something: 1 to `bytes_max` bytes that printable() leaves as they are.
bool is_printable_name(std::string_view text, std::size_t bytes_max);

} // namespace troupe
