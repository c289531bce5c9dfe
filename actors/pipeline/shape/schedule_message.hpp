// A stage's part of a schedule as a message (schemas/pipeline.capnp, StageSchedule).
#pragma once

#include "actors/pipeline/shape/pipeline_place.hpp"
#include "schemas/base/error.hpp"
#include "schemas/pipeline.capnp.h"

namespace troupe {

void write_schedule(proto::StageSchedule::Builder to, const stage_schedule& from);

// errc::protocol for a schedule that is too long or not sound, or does not fit the first stage, or any other.
result<stage_schedule> read_schedule(proto::StageSchedule::Reader from, bool is_first);

} // namespace troupe
