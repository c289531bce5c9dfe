// The `troupe` program with the kinds of jobs that its main() hands over.
#pragma once

#include "tools/troupe/job.hpp"

namespace troupe::cli {

// The kinds of jobs of a program, with those programs of scheduled parameters that the command line names by --program.
using job_source =
    std::function<result<std::vector<job_kind>>(const std::vector<std::string>& modules)>;

// Reads the command line, calls the command, and returns the exit code (commands.hpp).
int run_program(int argc, char** argv, const job_source& jobs);

} // namespace troupe::cli
