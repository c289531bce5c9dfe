// A plan as JSON, for `plan --json` and the first line of `run --json`.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "actors/training/plan/plan.hpp"

namespace troupe {

nlohmann::ordered_json to_json(const plan& p);        // without its layers
nlohmann::ordered_json layers_to_json(const plan& p); // one object each

} // namespace troupe
