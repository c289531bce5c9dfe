#include "actors/runtime/sim_device.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace troupe {

namespace {

constexpr duration task_time_min = std::chrono::microseconds{5};

} // namespace

sim_device::sim_device(sim_device_options options, operations& ops, const time_source& time,
                       timer_service& timers)
    : options_{std::move(options)}, ops_{ops}, time_{time}, timers_{timers}, random_{options_.seed},
      memory_{options_.memory_bytes} {}

std::optional<duration> sim_device::modelled_time(double cost) const {
    const double seconds = cost / options_.flops_per_second;
    return std::max(duration{static_cast<std::int64_t>(seconds * 1e9)}, task_time_min);
}

void sim_device::submit(device_task task) {
    const double factor = 1 + options_.jitter * (2 * random_.uniform() - 1);
    const duration busy{static_cast<std::int64_t>(
        static_cast<double>(modelled_time(task.cost_hint)->count()) * factor)};
    busy_until_ = std::max(busy_until_, time_.now()) + busy;
    compute_context context{ops_, memory_};
    auto outcome = std::make_shared<result<void>>(task.work(context));
    timers_.after(busy_until_ - time_.now(), [outcome, busy, done = std::move(task.done)] {
        done(std::move(*outcome), busy);
    });
}

} // namespace troupe
