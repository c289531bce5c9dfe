// The layers of every stage, and the devices of the stage and its replicas. Pure; internal to plan.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "actors/training/plan/plan.hpp"

namespace troupe {

struct placement {
    std::vector<layer_range> stages;
    std::vector<std::vector<plan_device>> where; // by stage, then replica
    std::optional<planned_schedule> schedule{};  // where it deals the stages to the devices
};

// errc::usage "KEY: SENTENCE" for stages that do not fit the layers, a device that is not there, or too few of them for the
// replicas.
result<placement> place_stages(const plan_request& request, std::span<const layer_info> layers);

} // namespace troupe
