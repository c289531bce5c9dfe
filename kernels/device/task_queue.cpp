#include "kernels/device/task_queue.hpp"

#include <algorithm>

namespace troupe {

device_task task_queue::pop() {
    TROUPE_CHECK(!tasks_.empty(), "an empty queue has no next task");
    auto next = tasks_.begin();
    for (auto t = std::next(next); t != tasks_.end(); ++t) {
        const auto is_same_owner = [&](const device_task& before) {
            return before.owner == t->owner;
        };
        if (t->priority > next->priority && std::none_of(tasks_.begin(), t, is_same_owner))
            next = t;
    }
    device_task task = std::move(*next);
    tasks_.erase(next);
    return task;
}

} // namespace troupe
