// Parts of what is said of a plan.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/base/quantities.hpp"

namespace troupe {

struct plan;
struct planned_stage;

std::string milliseconds(double ns);

// Of a stage's gradients on their way to servers, at most, and how they are compressed: nothing where they are not; and of
// its weights on their way back.
struct planned_push {
    std::uint64_t bytes = 0;
    std::uint64_t pulled = 0;
    std::string how;
};
planned_push push_of(const plan& p, const planned_stage& s);

} // namespace troupe
