// The table row of training jobs.
#pragma once

#include "tools/troupe/job.hpp"

namespace troupe::cli {

job_kind training_job();

} // namespace troupe::cli
