// One file inside a zip archive, as an input_file.
#pragma once

#include "actors/data/files/input_file.hpp"

namespace troupe {

// Opens the member NAME, or NAME plus `suffix`, of an archive; an empty name stands for the only member. In messages it is
// ARCHIVE:NAME. errc::data if the file is no archive or has no such member, with the names of its members.
result<input_file> open_zip_member(const std::filesystem::path& archive, const std::string& name,
                                   const std::string& suffix);

// The names of the members of an archive, in their order, without `suffix`. errc::data if the file is no archive.
result<std::vector<std::string>> zip_member_names(const std::filesystem::path& archive,
                                                  const std::string& suffix);

} // namespace troupe
