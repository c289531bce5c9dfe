// Sentences about a name that does not exist, for those who mistyped it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

// The candidate that `wrong` was most likely meant to be, in whatever letters; empty if none is close.
std::string nearest(std::string_view wrong, const std::vector<std::string>& candidates);

// `did you mean "kernel"? `, to stand before what else is said; empty if none is close.
std::string guess(std::string_view wrong, const std::vector<std::string>& candidates);

// "a, b, c"
std::string join(const std::vector<std::string>& words);

// "a, b or c"
std::string alternatives(const std::vector<std::string>& words);

// `did you mean "kernel"?`, or all candidates when none is close.
std::string suggestion(std::string_view wrong, const std::vector<std::string>& candidates);

} // namespace troupe
