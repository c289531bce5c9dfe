// App files that build on others: `base: OTHER.yaml`. Internal to the app file loader.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "actors/app_file/app_kind.hpp"
#include "actors/app_file/tree.hpp"

namespace troupe::app_file {

// The text of an app file, at most one byte longer than allowed. errc::io.
result<std::string> read_text(const std::filesystem::path& file);

// The trees of `text`, which is that of names.files[0], of its base, of the base's base and so on, whose names it appends to
// names.files.
result<std::vector<node>> parse_with_bases(std::string_view text, sources& names);

// One tree of all: keys of a file hold before those of its base. Maps are joined, anything else is replaced, and one member
// of a union of the kind's schema replaces another.
result<node> join_bases(std::vector<node> trees, const app_kind& kind, const sources& names);

} // namespace troupe::app_file
