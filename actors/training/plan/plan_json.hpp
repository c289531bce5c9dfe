// A plan as JSON, for `plan --json` and the first line of `run --json`.
#pragma once

#include "actors/training/plan/plan.hpp"
#include "schemas/base/json.hpp"

namespace troupe {

json to_json(const plan& p);        // without its layers
json layers_to_json(const plan& p); // one object each

} // namespace troupe
