// File names as people write them in app files and on command lines. Pure.
#pragma once

#include <string>
#include <string_view>

#include "schemas/base/error.hpp"

namespace troupe {

// The name with `home` for "~" where it is all, or the first folder. errc::usage, a sentence, for "~" if `home` is empty,
// for "~USER", and for variables ("$HOME/x", "${DATA}"), as a file or folder of that name is hardly meant.
result<std::string> with_home(std::string_view name, const std::string& home);

} // namespace troupe
