// App files that build on others: `base: OTHER.yaml`. Internal to the app file loader.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "actors/plan/app_file_tree.hpp"

namespace troupe::app_file {

// The text of an app file, at most one byte longer than allowed. errc::io.
result<std::string> read_text(const std::filesystem::path& file);

// The tree of `text`, which is that of names.files[0], over those of its base, of the base's base and so on, whose names it
// appends to names.files. Keys of a file hold before those of its base: maps are joined, anything else is replaced, and one
// way of several of the schema replaces another.
result<node> parse_with_bases(std::string_view text, sources& names);

} // namespace troupe::app_file
