// The tasks that wait for a device on which several actors work: those of one owner in the order in which they came; of
// those that are first of their owner's, the most urgent, and of these the one that came first.
//
// A value. Threads: one at a time.
#pragma once

#include <deque>
#include <utility>

#include "kernels/device/device.hpp"

namespace troupe {

class task_queue {
  public:
    bool empty() const noexcept { return tasks_.empty(); }

    void push(device_task task) { tasks_.push_back(std::move(task)); }

    // The next one. Not of an empty queue. Linear in what waits, which is a few for each actor.
    device_task pop();

  private:
    std::deque<device_task> tasks_; // in the order in which they came
};

} // namespace troupe
