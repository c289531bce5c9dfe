// Parts of the text that describes a plan.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/base/quantities.hpp"

namespace troupe {

struct plan;
struct planned_stage;

std::string milliseconds(double ns);

// The bytes of a stage's gradients on their way to servers, at most, and of its weights on their way back. `how`: text on
// the compression of the gradients, empty without one.
struct planned_push {
    std::uint64_t bytes = 0;
    std::uint64_t pulled = 0;
    std::string how;
};
planned_push push_of(const plan& p, const planned_stage& s);

} // namespace troupe
