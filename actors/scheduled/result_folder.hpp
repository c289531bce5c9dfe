// A result on disk, whose files are whole.
//
// A program writes its files into a hidden folder below the result's. They are synced, and only then moved into place,
// one after the other, behind the mark (result_mark.hpp), which lists them. So a full disk leaves no torn file under a
// final name. A process that is killed between two moves leaves files of both results, until the run goes on.
//
// Threads: blocks on files. Errors: errc::io with the file as it is to be named, or what the program returns.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "schemas/base/error.hpp"

namespace troupe::scheduled {

// Makes `folder` if it is missing. `mark`: as of result_mark_of. Returns what `write` returns, which gets the hidden folder.
// Files of the result before that this one does not have are deleted.
using result_writer =
    std::function<result<std::vector<std::string>>(const std::filesystem::path& into)>;
result<std::vector<std::string>> write_into_place(const std::filesystem::path& folder,
                                                  const std::string& mark,
                                                  const result_writer& write);

} // namespace troupe::scheduled
