// Checks of a program's app file before a run, its data, and the folder of its result.
//
// Threads: functions without state. Errors: errc::usage at the place in the file, with what to do; for what the program
// throws a sentence that names it and the call.
#pragma once

#include <memory>
#include <vector>

#include "actors/scheduled/open_data.hpp"
#include "actors/scheduled/program.hpp"
#include "actors/scheduled/program_app.hpp"
#include "tools/troupe/job.hpp"

namespace troupe::cli {

// The schedule is one that the program takes, and the bounds are such as it knows.
result<void> check_program(const scheduled::program_app& app, const scheduled::program& what);

// A run that cannot write its result, or that would write into somebody's files, is refused before it computes it. Makes the
// folder if the purpose is a run. Blocks on files.
result<void> check_result(const scheduled::program_app& app, job_purpose purpose);

// The data that the app file names, as this program takes it. Blocks on files.
result<std::shared_ptr<scheduled::piece_source>> open_data_for(const scheduled::program_app& app,
                                                               const scheduled::program& what,
                                                               const scheduled::program_site& site);

// The program's own check of its settings; the site has the data's shape.
result<void> check_settings(const scheduled::program_app& app, const scheduled::program& what,
                            const scheduled::program_site& site);

struct doubts_of_run {
    std::vector<scheduled::doubtful_key> keys; // the program's, and those of all programs
    bool has_bits_of_processor = false;
};
result<doubts_of_run> doubts_about(const scheduled::program_app& app,
                                   const scheduled::program& what,
                                   const scheduled::program_site& site);

} // namespace troupe::cli
