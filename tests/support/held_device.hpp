// A device that works when a test says so.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/device/device.hpp"
#include "kernels/reference/reference.hpp"

namespace troupe::test {

class held_device final : public device {
  public:
    explicit held_device(std::string name = "held:0") : name_{std::move(name)} {}

    void submit(device_task task) override { tasks.push_back(std::move(task)); }
    memory_pool& memory() noexcept override { return memory_; }
    const std::string& name() const noexcept override { return name_; }

    // What the first task's work came to.
    result<void> work() {
        device_task task = std::move(tasks.front());
        tasks.erase(tasks.begin());
        compute_context context{*operations_, memory_};
        const result<void> outcome = task.work(context);
        task.done(outcome, std::chrono::milliseconds{1});
        return outcome;
    }

    std::vector<device_task> tasks;

  private:
    const std::string name_;
    memory_pool memory_{1u << 28};
    const std::unique_ptr<operations> operations_ = make_reference_operations();
};

} // namespace troupe::test
