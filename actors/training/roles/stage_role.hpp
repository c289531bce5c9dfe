// The role "stage": spawns a stage_actor by StageOptions (schemas/pipeline.capnp).
#pragma once

#include "actors/agent/role.hpp"

namespace troupe {

role stage_role();

} // namespace troupe
