// Parts of what is said of a plan.
#pragma once

#include <string>

#include "schemas/base/quantities.hpp"

namespace troupe {

struct plan_device;

std::string milliseconds(double ns);
std::string where_text(const plan_device& d); // "node-0/cpu:0"

} // namespace troupe
