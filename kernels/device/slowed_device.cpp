#include "kernels/device/slowed_device.hpp"

#include <thread>
#include <utility>

#include "kernels/ops/ops.hpp"

namespace troupe {

namespace {

class slowed_device final : public device {
  public:
    slowed_device(std::shared_ptr<device> real, double factor, const time_source& time)
        : real_{std::move(real)}, factor_{factor}, time_{time} {}

    void submit(device_task task) override {
        task.cost_hint *= factor_;
        if (!real_->modelled_time(0))
            task.work = [work = std::move(task.work), more = factor_ - 1,
                         time = &time_](compute_context& context) -> result<void> {
                const time_point began = time->now();
                auto outcome = work(context);
                if (outcome)
                    outcome = context.ops.wait();
                std::this_thread::sleep_for((time->now() - began) * more);
                return outcome;
            };
        real_->submit(std::move(task));
    }

    std::optional<duration> modelled_time(double cost) const override {
        return real_->modelled_time(cost * factor_);
    }

    std::optional<error> lost() const override { return real_->lost(); }
    memory_pool& memory() noexcept override { return real_->memory(); }
    const std::string& name() const noexcept override { return real_->name(); }

  private:
    const std::shared_ptr<device> real_;
    const double factor_;
    const time_source& time_;
};

} // namespace

std::shared_ptr<device> slow_down(std::shared_ptr<device> real, double factor,
                                  const time_source& time) {
    TROUPE_CHECK(factor >= 1, "devices are slowed down, never sped up");
    if (factor == 1)
        return real;
    return std::make_shared<slowed_device>(std::move(real), factor, time);
}

} // namespace troupe
