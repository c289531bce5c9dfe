// The actors of a run, from its placed stages and the way in which their replicas agree. Pure; internal to plan.
#pragma once

#include <string>
#include <vector>

#include "actors/training/plan/plan.hpp"

namespace troupe {

// Lists the actors in the order in which they are spawned: by replica, then stage; each stage follows its companions.
std::vector<planned_actor> list_actors(const plan& p, proto::Sync::Reader sync);

// Text for people: a line for each device.
std::string describe_actors(const plan& p);

} // namespace troupe
