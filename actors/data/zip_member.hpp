// One file inside a zip archive, as an input_file.
#pragma once

#include "actors/data/input_file.hpp"

namespace troupe {

// The member NAME, or NAME plus `suffix`, of an archive; an empty name stands for the only member. In messages it is
// ARCHIVE:NAME. errc::data for no archive, or no such member: the members that there are are named.
result<input_file> open_zip_member(const std::filesystem::path& archive, const std::string& name,
                                   const std::string& suffix);

} // namespace troupe
