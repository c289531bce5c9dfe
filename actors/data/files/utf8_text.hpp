// Texts in UTF-8. Pure.
#pragma once

#include <string>
#include <string_view>

namespace troupe {

// Why this is no text in UTF-8, and what to do, as a sentence about the first byte at fault; empty if it is one. A NUL byte
// is in no text.
std::string why_not_utf8(std::string_view text);

// True if a text in UTF-8 has a character that can be seen: more than blanks of any script, ends of lines, and characters
// that only direct others, such as joiners and byte order marks (Unicode's general categories Z, Cc and Cf).
bool has_visible_text(std::string_view text);

} // namespace troupe
