// Programs of scheduled parameters, as a kind of job.
#pragma once

#include "actors/scheduled/program.hpp"
#include "tools/troupe/job.hpp"

namespace troupe::cli {

// The table row for app files with the key `program`. `programs` is not empty.
job_kind program_job(std::shared_ptr<const scheduled::program_table> programs);

} // namespace troupe::cli
