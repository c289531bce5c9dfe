// The role "reducer": spawns a reducer of the kind that ReducerOptions (schemas/collective.capnp) imply.
#pragma once

#include "actors/agent/role.hpp"

namespace troupe {

role reducer_role();

} // namespace troupe
