// The roles that a trainer has spawned: for the table of an agent, by its owner.
#pragma once

#include <vector>

#include "actors/agent/role.hpp"

namespace troupe {

std::vector<role> training_roles();

} // namespace troupe
