// What is looked at of the app file of a program before its data is read, and of the folder of its result.
//
// Threads: functions without state. Errors: errc::usage at the place in the file, with what to do.
#pragma once

#include <vector>

#include "actors/scheduled/program.hpp"
#include "actors/scheduled/program_app.hpp"
#include "tools/troupe/job.hpp"

namespace troupe::cli {

// The schedule is one that the program takes, and the bounds are such as it knows.
result<void> check_program(const scheduled::program_app& app, const scheduled::program& what);

// A run that cannot write its result, or that would write into somebody's files, is refused before it computes it. Makes the
// folder if the purpose is a run. Blocks on files.
result<void> check_result(const scheduled::program_app& app, job_purpose purpose);

// What no program has to say of its own.
std::vector<scheduled::doubtful_key> doubts_of(proto::ProgramSchedule::Reader schedule);

} // namespace troupe::cli
