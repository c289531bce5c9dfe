// The schedule that an app file names by a CSV file (topology.pipeline.schedule.table).
#pragma once

#include <memory>

#include "actors/pipeline/shape/schedule_table.hpp"
#include "actors/training/plan/training_app.hpp"
#include "schemas/base/error.hpp"

namespace troupe {

// Null where the app names no file. Reads the file. Errors: errc::io, or errc::data with file, line and step; errc::usage
// "KEY: SENTENCE" where the app says other stages or microbatches, or runs do not take the table's order.
result<std::shared_ptr<const schedule_table>> read_table_file(const training_app& app);

} // namespace troupe
