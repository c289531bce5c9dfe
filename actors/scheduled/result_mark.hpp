// A run leaves a mark in its result's folder besides the files of its program: `result.json`, with the program's name and,
// of documents, the rules by which their words were found:
//
//     {"program": "lda", "words": {"stem": "english", "stop_words": "none", "length_min": 3, ...}, "files": ["topics.csv"]}
//
// By it a run knows whether it may write into a folder, and which files are of the result before; and a command whether a
// result is of its program and of such words.
//
// Threads: functions of files, which they block on. Errors: errc::usage "KEY: SENTENCE", with the key of the app file that
// is to be changed, or "RESULT: SENTENCE"; errc::io.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "schemas/base/error.hpp"
#include "schemas/program_app.capnp.h"

namespace troupe::scheduled {

inline constexpr const char* result_mark_name = "result.json";

// Refuses a folder that has files, and no mark of this program. Hidden files and folders count for nothing; the folder need
// not be there.
result<void> check_result_folder(const std::filesystem::path& folder, const std::string& program);

// The text of the mark. Reads data.documents.stop_words_file, so it is asked for as the data is opened.
result<std::string> result_mark_of(const std::string& program, proto::ProgramData::Reader data);
// `files`: names of those that the program has written.
result<void> write_result_mark(const std::filesystem::path& folder, const std::string& mark,
                               const std::vector<std::string>& files);
// Files of the result that are there. None where the mark is damaged, or says nothing of files, as that of a former build.
std::vector<std::string> files_of_result(const std::filesystem::path& folder);

// Whether `folder` is a result of this program, whose words follow the same rules as those of `data`.
result<void> check_result_mark(const std::filesystem::path& folder, const std::string& program,
                               proto::ProgramData::Reader data);

} // namespace troupe::scheduled
