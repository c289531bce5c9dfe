// Errors for a file in a result's folder that is not as a run has written it: nobody can fetch that again.
//
// Threads: pure.
#pragma once

#include <filesystem>
#include <string>

#include "schemas/base/error.hpp"

namespace troupe::scheduled {

// errc::data "FILE: SENTENCE; ..." with what to do.
inline error damaged_result(const std::filesystem::path& file, const std::string& sentence) {
    return {errc::data,
            file.string() + ": " + sentence +
                "; the folder is damaged, or files of other runs are in it: run again, "
                "from a checkpoint by --resume if there is one, or give another folder"};
}

// The error for an array of NumPy that was read with this failure; if the system could not read it, the failure stays.
inline error damaged_array(const std::filesystem::path& file, const error& why) {
    if (why.code() != errc::data)
        return why;
    return damaged_result(file, "is not the whole array that the run has written");
}

} // namespace troupe::scheduled
