// A device whose work takes modelled time: it computes at once, so that results are real, and completes when a device with
// the given rate would have.
//
// Threads: one, that of the simulation. Times: cost_hint / rate, at least 5 us, times 1 +- jitter from the seed;
// tasks follow each other.
#pragma once

#include <string>

#include "actors/runtime/timers.hpp"
#include "kernels/device/device.hpp"
#include "schemas/base/random.hpp"

namespace troupe {

struct sim_device_options {
    std::string name = "sim:0";
    double flops_per_second = 1e11;
    double jitter = 0.1; // share of a task's time
    std::uint64_t seed = 1;
    std::uint64_t memory_bytes = 1u << 28;
};

class sim_device final : public device {
  public:
    sim_device(sim_device_options options, operations& ops, const time_source& time,
               timer_service& timers);

    void submit(device_task task) override;
    std::optional<duration> modelled_time(double cost) const override; // without jitter
    memory_pool& memory() noexcept override { return memory_; }
    const std::string& name() const noexcept override { return options_.name; }

  private:
    const sim_device_options options_;
    operations& ops_;
    const time_source& time_;
    timer_service& timers_;
    random_stream random_;
    memory_pool memory_;
    time_point busy_until_;
};

} // namespace troupe
