// The `troupe` program with the kinds of jobs that its main() hands over.
#pragma once

#include "tools/troupe/job.hpp"

namespace troupe::cli {

// Reads the command line, calls the command, and returns the exit code (commands.hpp). `jobs` must outlive the call.
int run_program(int argc, char** argv, job_table jobs);

} // namespace troupe::cli
