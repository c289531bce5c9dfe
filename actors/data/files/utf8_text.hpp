// Texts in UTF-8. Pure.
#pragma once

#include <string>
#include <string_view>

namespace troupe {

// Why this is no text in UTF-8, and what to do, as a sentence about the first byte at fault; empty if it is one. A NUL byte
// is in no text.
std::string why_not_utf8(std::string_view text);

} // namespace troupe
