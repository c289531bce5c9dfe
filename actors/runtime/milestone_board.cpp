#include "actors/runtime/milestone_board.hpp"

#include <algorithm>

namespace troupe {

void milestone_board::reached(milestone m) {
    m.numbers.resize(std::min(m.numbers.size(), numbers_max));
    for (number& n : m.numbers)
        n.name.resize(std::min(n.name.size(), name_bytes_max));
    const std::lock_guard guard{lock_};
    if (milestones_.size() == milestones_max)
        milestones_.pop_front();
    milestones_.push_back(std::move(m));
}

std::vector<milestone_board::milestone> milestone_board::milestones() const {
    const std::lock_guard guard{lock_};
    return {milestones_.begin(), milestones_.end()};
}

} // namespace troupe
