// Words that say little about the subject of a text.
#pragma once

#include <span>
#include <string_view>

namespace troupe {

// English stop words, in lower case, with what is left of them at an apostrophe (don't: "don", "t").
std::span<const std::string_view> english_stop_words() noexcept;

} // namespace troupe
