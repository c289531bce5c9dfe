// The role "reducer": spawns the reducer that ranks sum by as ReducerOptions (schemas/collective.capnp) say.
#pragma once

#include "actors/agent/role.hpp"

namespace troupe {

role reducer_role();

} // namespace troupe
